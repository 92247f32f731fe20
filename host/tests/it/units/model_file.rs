use ictd::formats::parameters::AttentionKind;
use ictd::model_file::{AnyModel, open};
use ictd_core::model::ConstructionSettings;

#[test]
fn a_stored_model_is_read_as_parameters() {
    let model =
        ictd_core::Model::<2>::td0(ConstructionSettings { alpha: 0.2, depth: 15, gamma: 0.9 })
            .unwrap();
    let mut buffer = [0; 1024];
    let bytes = model.write(&mut buffer).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.ictd");
    std::fs::write(&path, bytes).unwrap();
    let AnyModel::Dense(read, None) = open(&path, None).unwrap() else { panic!("P and Q") };
    assert_eq!(read.depth, Some(15));
    assert_eq!(read.layers[0].p[24], 1.0);
    assert_eq!(read.attention, Some(AttentionKind::Linear));
    assert_eq!(read.gamma, Some(f64::from(0.9_f32)));
    // A truncated one is named, with the core's reason.
    std::fs::write(&path, &bytes[..40]).unwrap();
    let message = open(&path, None).unwrap_err().to_string();
    assert!(
        message.contains("model.ictd: not a readable stored model file: 40 bytes"),
        "{message}"
    );
}

#[test]
fn a_folder_without_parameters_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let message = open(directory.path(), None).unwrap_err().to_string();
    assert!(message.contains("a folder with parameters.safetensors or data.npz"), "{message}");
}
