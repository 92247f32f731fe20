//! Stored models: what `export` writes is what firmware would write itself, and `inspect` shows it.

use crate::common::*;
use ictd::formats::parameters::{AttentionKind, LayerParameters, LayerSharing, Parameters};
use ictd::formats::safetensors;
use ictd_core::attention::{AverageReward, Linear, Td0, TdLambda};
use ictd_core::model::ConstructionSettings;
use ictd_core::transformer::Transformer;
use ictd_core::{constructions, model};

/// Parameters without a pattern, different for each seed.
fn parameters(seed: u64, mode: LayerSharing) -> Parameters {
    let number = |i: usize| ((seed as usize * 31 + i * 17) % 64) as f32 / 64.0 - 0.5;
    let layer = |l: usize| LayerParameters {
        p: (0..25).map(|i| number(100 * l + i)).collect(),
        q: (0..25).map(|i| number(100 * l + i + 50)).collect(),
    };
    let (stored, depth) = if mode == LayerSharing::Sequential { (2, 2) } else { (1, 3) };
    Parameters {
        token_size: 5,
        layers: (0..stored).map(layer).collect(),
        layer_sharing: mode,
        depth: Some(depth),
        attention: Some(AttentionKind::Linear),
        gamma: Some(0.75),
        context_length: Some(30),
        trace_decay: 0.0,
    }
}

/// A run of two seeds, with the parameters of each.
fn run(directory: &Path, mode: LayerSharing) {
    for seed in [3, 7] {
        let folder = directory.join(format!("seed_{seed}"));
        fs::create_dir_all(&folder).unwrap();
        folder.put("parameters.safetensors", safetensors::to_bytes(&parameters(seed, mode)));
    }
}

/// The numbers of a stored model behind gamma and lambda.
fn numbers(model: &[u8]) -> Vec<f32> {
    let (numbers, rest) = model[20..model.len() - 4].as_chunks();
    assert!(rest.is_empty());
    numbers.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

#[test]
fn each_construction_is_written_as_the_constant_that_firmware_has() {
    let out = Folder::new();
    let file = out.join("model.ictd");
    let export = |arguments: &str| {
        done(&file, &format!("export --construction {arguments}"));
        fs::read(&file).unwrap()
    };
    type Model = ictd_core::Model<4>;
    type WithTrace = ictd_core::Model<4, Linear<TdLambda>>;
    let settings = ConstructionSettings::new(0.9).step_size(0.2).depth(15);
    assert_eq!(Model::from_bytes(&export("td0")), Model::td0(settings));
    let bytes = export("td-lambda --trace-decay 0.25 --layers 2");
    let want = WithTrace::td_lambda(settings.depth(2), 0.25);
    assert_eq!(WithTrace::from_bytes(&bytes), want);
    let bytes = export("residual-gradient --alpha 0.5 --layers 65535 --gamma 0.5");
    let layer = constructions::residual_gradient(&constructions::scaled_identity::<f32, 4>(0.5));
    let want =
        Model::new(Transformer::autoregressive(layer, 65535).unwrap(), Linear(Td0), 0.5).unwrap();
    assert_eq!(Model::from_bytes(&bytes), Ok(want));
    let bytes = export("preconditioned-td --alpha 0.5 --beta 0.25 --layers 3");
    let want =
        Model::preconditioned_td(ConstructionSettings::new(0.9).step_size(0.5).depth(3), 0.25);
    assert_eq!(Model::from_bytes(&bytes), want);
    for wrong in ["preconditioned-td", "td0 --beta 0.1"] {
        let line = refusal(&ictd(&file, &format!("export --construction {wrong}")));
        assert!(line.contains("--beta"), "{wrong}: {line}");
    }
    let bytes = export("average-reward --dim 3 --alpha 0.125 --layers 4");
    let layer = constructions::average_reward(&constructions::scaled_identity::<f32, 3>(0.125));
    let layers = Transformer::autoregressive(layer, 4).unwrap();
    let want = model::Model::<f32, 3, 8, 1, _>::new(layers, AverageReward, 1.0);
    assert_eq!(model::Model::from_bytes(&bytes), want);
    assert_eq!(files(&out), ["model.ictd"]);
}

#[test]
fn a_seed_of_a_run_is_written_bit_for_bit() {
    let directory = Folder::new();
    let (source, file) = (directory.join("run"), directory.join("m.ictd"));
    for mode in [LayerSharing::Autoregressive, LayerSharing::Sequential] {
        run(&source, mode);
        for seed in [3, 7] {
            let want: Vec<f32> = (parameters(seed, mode).layers.iter())
                .flat_map(|layer| [layer.p.clone(), layer.q.clone()].concat())
                .collect();
            let run = source.display();
            for arguments in [
                format!("export {run} --seed {seed}"),
                format!("export {run}/seed_{seed}"),
                format!("export {run}/seed_{seed}/parameters.safetensors"),
            ] {
                done(&file, &arguments);
                assert_eq!(numbers(&fs::read(&file).unwrap()), want, "{arguments}");
            }
        }
    }
    let model =
        ictd_core::Model::<2, Linear<Td0>, 2>::from_bytes(&fs::read(&file).unwrap()).unwrap();
    assert_eq!((model.gamma(), model.transformer().depth()), (0.75, 2));
    // What was exported can be exported again.
    let again = directory.join("again.ictd");
    done(&again, &format!("export {}", file.display()));
    assert_eq!(fs::read(&again).unwrap(), fs::read(&file).unwrap());
}

#[test]
fn inspect_shows_what_was_exported() {
    let out = Folder::new();
    let file = out.join("m.ictd");
    let keys = "attention layers gamma trace_decay parameters nonzero_parameters largest_parameter \
        scalar mode";
    for (arguments, values) in [
        ("td-lambda --layers 7 --alpha 0.5", "linear 7 0.9 0.5 162 9 1.0 f32 autoregressive"),
        ("average-reward --dim 2", "two-head 15 1.0 0.0 216 12 1.0 f32 autoregressive"),
    ] {
        ictd(&file, &format!("export --construction {arguments}"));
        let text = text(&done(&out, &format!("inspect {}", file.display())));
        let object = json(&ictd(&out, &format!("inspect {} --json", file.display())));
        for (key, value) in keys.split(' ').zip(values.split(' ')) {
            let line = format!("{key:<20}{value}");
            assert!(text.lines().any(|l| l == line), "{line}: {text}");
            // Numbers are said in double precision, and shown as they were typed.
            match (object[key].as_f64(), object[key].as_str()) {
                (Some(x), _) => assert_eq!(x as f32, value.parse::<f32>().unwrap(), "{key}"),
                (None, found) => assert_eq!(found, Some(value), "{key}"),
            }
        }
        assert_eq!(object["bytes"], fs::metadata(&file).unwrap().len());
    }
    assert_eq!(files(&out), ["m.ictd"]);
}

#[test]
fn digest_lists_every_kernel_beside_its_expected_digest() {
    let out = Folder::new();
    let expected = include_str!("../../../tests/digests.txt");
    let object = json(&ictd(&out, "digest --json"));
    assert_eq!((&object["equal"], &object["holds"]), (&true.into(), &true.into()));
    let kernels = object["kernels"].as_array().unwrap();
    let listed: Vec<String> = (kernels.iter())
        .map(|k| format!("{} {}", k["kernel"].as_str().unwrap(), k["digest"].as_str().unwrap()))
        .collect();
    let lines = expected.lines().filter(|line| !line.starts_with('#'));
    let stated: Vec<String> =
        lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(listed, stated);
    let text = text(&ictd(&out, "digest"));
    let digest = stated[0].split(' ').nth(1).unwrap();
    assert_eq!(text.matches(digest).count(), 2, "{text}");
}

#[test]
fn a_source_that_cannot_be_exported_is_named_in_one_line() {
    let here = &Folder::with("m.ictd", "before");
    run(&here.join("run"), LayerSharing::Autoregressive);
    fs::create_dir(here.join("empty")).unwrap();
    let good = parameters(1, LayerSharing::Autoregressive);
    let bytes = safetensors::to_bytes(&good);
    let (mut nan, mut silent, mut damaged) = (good.clone(), good, bytes.clone());
    nan.layers[0].q[7] = f32::NAN;
    silent.depth = None;
    *damaged.last_mut().unwrap() ^= 1;
    here.put("nan.safetensors", safetensors::to_bytes(&nan));
    here.put("silent.safetensors", safetensors::to_bytes(&silent));
    here.put("damaged.safetensors", damaged);
    here.put("good.safetensors", &bytes);
    here.put("short.safetensors", &bytes[..100]);
    here.put("own.safetensors", safetensors::to_bytes(&parameters(1, LayerSharing::Sequential)));
    here.put("text.safetensors", "no model at all");
    here.put("model.pt", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.");
    done(&here.join("damaged.ictd"), "export --construction td0 --dim 2 --layers 3");
    done(&here.join("two-head.ictd"), "export --construction average-reward --dim 2 --layers 3");
    let mut model = here.bytes("damaged.ictd");
    model[30] ^= 1;
    here.put("damaged.ictd", model);
    let before = contents(here);
    for (source, reason) in [
        ("nowhere", "nowhere: No such file"),
        ("run", "--seed: "),
        ("run", "has no seed 0; expected one of 3, 7"),
        ("empty", "a folder with parameters.safetensors or data.npz"),
        ("nan.safetensors", "NaN in row 2, column 3"),
        ("silent.safetensors", "--layers: the model's file does not have it; expected an integer"),
        ("damaged.safetensors", "its checksum is wrong"),
        ("short.safetensors", "not a readable .safetensors file"),
        ("text.safetensors", "not a readable .safetensors file"),
        ("model.pt", "a pickle, as torch.save writes it: expected .safetensors"),
        ("damaged.ictd", "damaged: computed checksum"),
        ("two-head.ictd", "attention 3: 1 is expected"),
        // An option that contradicts the source.
        ("good.safetensors --gamma 0.5", "0.5 contradicts the model's file, which has 0.75"),
        ("own.safetensors --layers 7", "--layers: 7 contradicts the model's file, which has 2"),
        ("", "RUN_DIR"),
        ("--construction td1", "td0, residual-gradient, td-lambda, average-reward"),
        ("--construction td0 --dim 17", "--dim 17: expected an integer from 1 to 16"),
        ("--construction td0 --alpha nan", "--alpha nan"),
        ("--construction td0 --layers 0", "--layers 0"),
        ("--construction average-reward --gamma 0.5", "--gamma: "),
        ("--construction td0 --trace-decay 0.3", "--trace-decay: 0.3: it needs"),
        ("x --construction td0", "cannot be used with"),
    ] {
        let line = refused(here, &format!("export {source} --out m.ictd"));
        assert!(line.contains(reason), "{source}: {line}");
        let is_file = source.contains('.') && !source.contains(' ');
        assert!(!is_file || line.contains(source) || reason.starts_with("--"), "{line}");
        assert!(contents(here) == before, "{source}");
    }
    // A file that is no model of ours is replaced only by force.
    here.put("notes.txt", "notes");
    let line = refused(here, "export --construction td0 --out notes.txt");
    assert!(line.contains("notes.txt: is not a stored model: --force replaces it"), "{line}");
    assert_eq!(here.bytes("notes.txt"), b"notes");
    for force in ["--force", ""] {
        object(here, 0, &format!("export --construction td0 --out notes.txt {force}"));
    }
    // Layers that share their parameters can be as many as wanted.
    for layers in [3, 7] {
        let line = format!("export good.safetensors --gamma 0.75 --layers {layers} --out same");
        object(here, 0, &line);
    }
}
