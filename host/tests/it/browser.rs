//! A headless Chromium, driven over its debugging pipe.

use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// The browser's program, if there is one: `CHROMIUM` names it, or one of the usual names is found.
pub(crate) fn program() -> Option<OsString> {
    let usual = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
    let named = std::env::var_os("CHROMIUM").into_iter();
    named.chain(usual.map(OsString::from)).find(|name| {
        let version = Command::new(name).arg("--version").stderr(Stdio::null()).output();
        version.is_ok_and(|output| output.status.success())
    })
}

/// One page of a browser of its own.
pub(crate) struct Browser {
    child: Child,
    to: File,
    messages: Receiver<Value>,
    calls: u64,
    session: Option<String>,
    problems: Vec<String>,
    /// What moves by itself does.
    pub(crate) moves: bool,
    _directory: tempfile::TempDir,
}

impl Browser {
    pub(crate) fn start(program: &OsString) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (to, from) = (directory.path().join("to"), directory.path().join("from"));
        let pipes = Command::new("mkfifo").args([&to, &from]).status().unwrap();
        assert!(pipes.success());
        let child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<\"$ICTD_TO\" 4>\"$ICTD_FROM\""])
            .arg(program)
            .args(["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"])
            .args(["--hide-scrollbars", "--no-first-run", "--disable-background-networking"])
            .arg(format!("--user-data-dir={}", directory.path().join("profile").display()))
            .env("ICTD_TO", &to)
            .env("ICTD_FROM", &from)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = File::options().write(true).open(to).unwrap();
        let from = BufReader::new(File::open(from).unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in from.split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("the browser speaks JSON");
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut browser = Browser {
            child,
            to,
            messages,
            calls: 0,
            session: None,
            problems: Vec::new(),
            moves: false,
            _directory: directory,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let target = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", target);
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser listens");
        loop {
            let answer = self.messages.recv_timeout(PATIENCE).expect("the browser answers");
            if answer["id"] == self.calls {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.note(&answer);
        }
    }

    /// Keeps what a good page does not do.
    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        let problem = match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => format!("exception: {}", parameters["exceptionDetails"]),
            "Runtime.consoleAPICalled" => format!("console: {parameters}"),
            "Page.javascriptDialogOpening" => format!("dialog: {parameters}"),
            "Log.entryAdded" => format!("log: {}", parameters["entry"]),
            "Network.requestWillBeSent" => {
                let address = parameters["request"]["url"].as_str().unwrap_or_default();
                let own = address.starts_with("file:") && parameters["type"] == "Document";
                if own || address.starts_with("data:") {
                    return;
                }
                format!("request: {address}")
            }
            _ => return,
        };
        self.problems.push(problem);
    }

    /// Returns what went wrong so far: errors, anything on the console, any request.
    pub(crate) fn problems(&mut self) -> Vec<String> {
        // The events before this answer are in.
        self.evaluate("0");
        std::mem::take(&mut self.problems)
    }

    pub(crate) fn set_screen(&mut self, width: u32, height: u32, dark: bool) {
        let screen =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", screen);
        let value = if dark { "dark" } else { "light" };
        let motion = if self.moves { "no-preference" } else { "reduce" };
        let features = json!([
            { "name": "prefers-color-scheme", "value": value },
            { "name": "prefers-reduced-motion", "value": motion },
        ]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    pub(crate) fn open(&mut self, file: &Path) {
        let path = file.canonicalize().unwrap();
        self.call("Page.navigate", json!({ "url": format!("file://{}", path.display()) }));
        self.wait_for("document.readyState === 'complete'");
        // What scrolls smoothly moves away under the mouse.
        self.evaluate("document.documentElement.style.scrollBehavior = 'auto'");
        self.wait_for_paint();
    }

    /// The value of an expression.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let asked =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let result = self.call("Runtime.evaluate", asked);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    pub(crate) fn wait_for(&mut self, condition: &str) {
        let begin = Instant::now();
        while self.evaluate(condition) != true {
            assert!(begin.elapsed() < PATIENCE, "never: {condition}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until what happened is on the screen: before that a page ignores the mouse.
    fn wait_for_paint(&mut self) {
        self.evaluate(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))",
        );
    }

    /// The text of an element.
    pub(crate) fn text(&mut self, selector: &str) -> String {
        let text = self.evaluate(&format!("document.querySelector({selector:?}).textContent"));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Clicks where an element is, with the mouse; what lies on top of it would get the click.
    pub(crate) fn click(&mut self, selector: &str) {
        // A page that is still scrolling or painting drops a click: tried again until it arrives.
        for _ in 0..20 {
            self.evaluate(&format!(
                "(() => {{ const e = document.querySelector({selector:?}); clicked = false; \
                 e.scrollIntoView({{ block: 'center' }}); \
                 e.addEventListener('click', () => clicked = true, {{ once: true }}); }})()"
            ));
            self.wait_for_paint();
            let middle = self.evaluate(&format!(
                "(() => {{ const r = document.querySelector({selector:?}).getBoundingClientRect(); \
                 return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
            ));
            for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
                let mut event = json!({ "type": kind, "button": "left", "clickCount": 1 });
                (event["x"], event["y"]) = (middle[0].clone(), middle[1].clone());
                self.call("Input.dispatchMouseEvent", event);
            }
            self.wait_for_paint();
            if self.evaluate("clicked") == true {
                return;
            }
        }
        panic!("{selector}: no click arrives");
    }

    /// Presses and releases a key.
    pub(crate) fn press(&mut self, key: &str, code: u32) {
        for kind in ["rawKeyDown", "keyUp"] {
            let event =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Types text where the focus is.
    pub(crate) fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// Leaves a picture for a human in the folder that `ICTD_SCREENSHOTS` names, of the whole page or of what is seen.
    pub(crate) fn screenshot(&mut self, name: &str, whole: bool) {
        use base64::Engine;
        let Some(directory) = std::env::var_os("ICTD_SCREENSHOTS") else { return };
        let whole = json!({ "captureBeyondViewport": whole, "format": "png" });
        let shot = self.call("Page.captureScreenshot", whole);
        let data = shot["data"].as_str().unwrap();
        let png = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
        std::fs::write(Path::new(&directory).join(name), png).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
