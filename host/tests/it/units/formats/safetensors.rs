use super::FILE;
use ictd::Error;
use ictd::formats::parameters::{AttentionKind, LayerParameters, LayerSharing, Parameters};
use ictd::formats::safetensors;
use serde_json::{Map, Value, json};
use std::path::Path;

fn example(mode: LayerSharing) -> Parameters {
    let layer = |x: f32| LayerParameters {
        p: (0..9).map(|i| x + i as f32).collect(),
        q: (0..9).map(|i| x - i as f32 / 7.0).collect(),
    };
    let layers = match mode {
        LayerSharing::Autoregressive => vec![layer(0.5)],
        LayerSharing::Sequential => vec![layer(0.5), layer(-3.0)],
    };
    Parameters {
        token_size: 3,
        depth: Some(2),
        layers,
        layer_sharing: mode,
        attention: Some(AttentionKind::Softmax),
        gamma: Some(0.9),
        context_length: Some(30),
        trace_decay: if mode == LayerSharing::Sequential { 0.5 } else { 0.0 },
    }
}

fn read(bytes: &[u8]) -> Result<Parameters, Error> {
    safetensors::from_bytes(Path::new(FILE), bytes)
}

#[test]
fn what_is_written_is_read_back() {
    for mode in [LayerSharing::Autoregressive, LayerSharing::Sequential] {
        let parameters = example(mode);
        let bytes = safetensors::to_bytes(&parameters);
        assert_eq!(read(&bytes).unwrap(), parameters);
        assert_eq!(bytes, safetensors::to_bytes(&parameters));
    }
}

#[test]
fn files_of_others_are_read_without_metadata() {
    let plain = |name: &str, dtype: &str, numbers: &[f64]| {
        let data: Vec<u8> = match dtype {
            "F64" => numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
            _ => numbers.iter().flat_map(|&x| (x as f32).to_le_bytes()).collect(),
        };
        (name.to_owned(), dtype.to_owned(), data)
    };
    let numbers: Vec<f64> = (0..18).map(f64::from).collect();
    let tensors = [plain("P", "F64", &numbers), plain("Q", "F32", &numbers)];
    let mut header = Map::new();
    let mut body: Vec<u8> = Vec::new();
    for (name, dtype, data) in &tensors {
        let offsets = [body.len(), body.len() + data.len()];
        body.extend(data);
        header.insert(
            name.clone(),
            json!({ "dtype": dtype, "shape": [2, 3, 3], "data_offsets": offsets }),
        );
    }
    let header = Value::Object(header).to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(body);
    let parameters = read(&bytes).unwrap();
    assert_eq!((parameters.layer_sharing, parameters.depth), (LayerSharing::Sequential, Some(2)));
    assert_eq!(parameters.layers[1].p[8], 17.0);
    assert_eq!(parameters.gamma, None);
}

#[test]
fn a_number_that_is_not_finite_is_named_by_row_and_column() {
    let mut parameters = example(LayerSharing::Sequential);
    parameters.layers[1].q[5] = f32::NAN;
    let message = read(&safetensors::to_bytes(&parameters)).unwrap_err().to_string();
    assert!(message.contains("`Q of layer 1`: NaN in row 1, column 2"), "{message}");
}

#[test]
fn missing_tensors_are_named() {
    let message = read(b"\x02\0\0\0\0\0\0\0{}").unwrap_err().to_string();
    assert!(message.contains("`attn.P` is missing"), "{message}");
}
