use super::*;
use ictd::formats::parameters::LayerSharing;
use ictd::formats::safetensors;

#[test]
fn files_of_others_are_read_without_metadata() {
    use ::safetensors::{Dtype, serialize, tensor::TensorView};
    let numbers = (0..18).map(f64::from);
    let p: Vec<u8> = numbers.clone().flat_map(f64::to_le_bytes).collect();
    let q: Vec<u8> = numbers.flat_map(|x| (x as f32).to_le_bytes()).collect();
    let view = |dtype, data| TensorView::new(dtype, vec![2, 3, 3], data).unwrap();
    let bytes =
        serialize([("P", view(Dtype::F64, &p)), ("Q", view(Dtype::F32, &q))], None).unwrap();
    let parameters = safetensors::from_bytes(Path::new(FILE), &bytes).unwrap();
    assert_eq!((parameters.layer_sharing, parameters.depth), (LayerSharing::Sequential, Some(2)));
    assert_eq!((parameters.layers[1].p[8], parameters.gamma), (17.0, None));
}
