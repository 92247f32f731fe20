//! The report in a browser: nothing is loaded, nothing is missing, and the live part computes what the
//! core computes when it is clicked.
//!
//! Needs Chromium: `tests/report.sh` installs it. Without it these tests say so and pass, except where
//! the environment variable CI is set. With `ICTD_SCREENSHOTS=DIR` they leave pictures there.

use crate::browser::Browser;
use crate::common::*;
use live::{Kind, Live, MAX_STATES, Signals};

/// A browser, or the reason why there is none.
fn browser(test: &str) -> Option<Browser> {
    if let Some(program) = crate::browser::program() {
        return Some(Browser::start(&program));
    }
    not_run(&format!("{test}: Chromium is missing (tests/report.sh installs it)"));
    None
}

/// The transitions and samples that the live parts begin with.
const BEGUN: usize = 20;
const SIGNALS_BEGUN: usize = 200;

/// The page of a run that is too small for a verdict.
fn page_of_demo(out: &Path) -> PathBuf {
    assert_eq!(ictd(out, "demo --tasks 2 --max-context 3").status.code(), Some(1));
    done(out, &format!("report {}", out.display()));
    out.join("report.html")
}

/// The colours of the first moving picture's cells as they stand in the file.
fn drawn(page: &Path) -> Vec<[u64; 3]> {
    let html = fs::read_to_string(page).unwrap();
    let (_, moving) = html.split_once("<figure class=\"plot moving\"").unwrap();
    let colours = moving.split("fill=\"#").skip(1).take(CELLS);
    let channel = |hex: &str| u64::from_str_radix(hex, 16).unwrap();
    colours.map(|c| [channel(&c[..2]), channel(&c[2..4]), channel(&c[4..6])]).collect()
}

/// Those of P and Q.
const CELLS: usize = 2 * 9 * 9;

/// Finds what is wrong with the page as a page; empty if nothing is.
const AUDIT: &str = include_str!("audit.js");

#[test]
fn the_page_is_whole_readable_and_asks_for_nothing() {
    let Some(mut browser) = browser("the report's figures, contrast and requests") else { return };
    let out = Folder::new();
    // Runs with every kind of content: claims of each verdict, figures, a moving picture.
    for arguments in ["demo --tasks 20", "verify --seeds 2 --layers 5"] {
        done(&out, arguments);
    }
    // So few tasks hardly train: the claims fail, and that is exit code 1.
    let output = ictd(&out, "reproduce figure-2 --seeds 2 --tasks 40");
    assert!(code(&output) < Some(2), "{output:?}");
    let page = out.join("report.html");
    browser.moves = true;
    for (width, height, dark) in
        [(390, 780, false), (390, 780, true), (1280, 900, false), (1280, 900, true)]
    {
        browser.set_screen(width, height, dark);
        browser.open(&page);
        browser.wait_for("!document.getElementById('live-app').hidden");
        let figures = browser.evaluate("document.querySelectorAll('.plot').length");
        assert_eq!(figures, 4, "demo, figure-2 and the emergence of P and Q, verify");
        // It moves by itself until it is stopped.
        let title = "document.querySelector('.moving .title').textContent";
        browser.evaluate("document.querySelector('.moving').scrollIntoView()");
        browser.wait_for(&format!("{title} !== 'After 40 MRPs'"));
        browser.click(".moving button");
        assert_eq!(browser.text(".moving button"), "Play");
        // Through the training by hand: its first frame, and its last as it was drawn.
        browser.evaluate("document.querySelector('.moving input').focus()");
        let cells = "[...document.querySelectorAll('.moving svg')].flatMap((svg) => \
                     [...svg.querySelectorAll('rect')].slice(1, 82)).map((e) => \
                     getComputedStyle(e).fill.match(/\\d+/g)?.map(Number))";
        browser.press("Home", 36);
        assert_eq!(browser.evaluate(title), "After 10 MRPs");
        let first = browser.evaluate(cells);
        browser.press("End", 35);
        assert_eq!(browser.evaluate(title), "After 40 MRPs");
        let last = browser.evaluate(cells);
        assert_ne!(last, first);
        // The script knows the numbers in hundredths.
        let shown: Vec<[u64; 3]> = serde_json::from_value(last).unwrap();
        let drawn = drawn(&page);
        assert_eq!([shown.len(), drawn.len()], [CELLS; 2]);
        let off = shown.iter().flatten().zip(drawn.iter().flatten());
        assert!(off.map(|(a, b)| a.abs_diff(*b)).all(|off| off <= 3), "{shown:?} {drawn:?}");
        // So do the live parts, once they are seen.
        for (part, length, play, begun) in [
            ("chain", "length", "#play", BEGUN),
            ("signal-0", "signals-length", "#signals-play", SIGNALS_BEGUN),
        ] {
            assert_eq!(browser.text(&format!("#{length}")), begun.to_string());
            browser.evaluate(&format!("document.getElementById('{part}').scrollIntoView()"));
            browser.wait_for(&format!(
                "Number(document.getElementById('{length}').textContent) >= {begun} + 5"
            ));
            browser.click(play);
        }
        browser.evaluate("document.querySelectorAll('details').forEach((e) => e.open = true)");
        assert_eq!(browser.evaluate(AUDIT), Value::Array(vec![]), "{width} dark: {dark}");
        let theme = if dark { "dark" } else { "light" };
        browser.evaluate("document.querySelectorAll('details').forEach((e) => e.open = false)");
        browser.screenshot(&format!("{width}-{theme}.png"), true);
        assert_eq!(browser.problems(), [""; 0], "{width} dark: {dark}");
    }
}

/// Asserts that the page shows what it must.
#[track_caller]
fn assert_shows(browser: &mut Browser, live: &Live) {
    assert_eq!(browser.text("#digest"), format!("{:016x}", live.digest.value()));
    assert_eq!(browser.text("#length"), live.context.len().to_string());
    let shown = browser.evaluate("document.getElementById('values').getAttribute('aria-label')");
    let decimals = |x: f32| {
        if x.is_finite() { format!("{x:.2}").replace('-', "−") } else { "–".into() }
    };
    let state = |s: usize| {
        let [constructed, trained] = live.predictions.map(|of| of.values[s]);
        format!(
            "state {s}: true {}, constructed {}, trained {}",
            decimals(live.chain.value[s]),
            decimals(constructed),
            decimals(trained)
        )
    };
    let states: Vec<_> = (0..live.chain.task.states()).map(state).collect();
    // Halves round differently in the two languages; -0.00 is 0.00 in one of them.
    let zero = |text: &str| text.replace("−0.00", "0.00");
    let shown = zero(shown.as_str().unwrap());
    assert_eq!(shown, zero(&format!("Values: {}", states.join("; "))));
}

/// One step of both, which show the same then.
#[track_caller]
fn step(browser: &mut Browser, live: &mut Live) {
    browser.click("#step");
    live.step().unwrap();
    assert_shows(browser, live);
}

/// A row of p in which one probability is set and the others keep their proportions, as the page
/// computes it: in double precision, rounded when it reaches the core.
fn with_probability(row: &[f32; MAX_STATES], state: usize, p: f64) -> [f32; MAX_STATES] {
    let all = row.iter().enumerate().filter(|(s, _)| *s != state);
    let rest = all.fold(0.0, |sum, (_, x)| sum + f64::from(*x));
    let scaled = |s: usize| (f64::from(row[s]) * (1.0 - p) / rest) as f32;
    std::array::from_fn(|s| if s == state { p as f32 } else { scaled(s) })
}

#[test]
fn clicking_the_live_part_computes_what_the_core_computes() {
    let Some(mut browser) = browser("the report's live part") else { return };
    let out = Folder::new();
    let page = page_of_demo(&out);
    for (width, dark) in [(1280, false), (360, true)] {
        browser.set_screen(width, 800, dark);
        browser.open(&page);
        browser.wait_for("!document.getElementById('live-app').hidden");
        assert_eq!(browser.text("#story"), format!("{:016x}", live::story().unwrap()));
        assert!(browser.text("#story-verdict").contains("equal to the core"));

        let mut live = Live::new().unwrap();
        (0..BEGUN).for_each(|_| live.step().unwrap());
        assert_shows(&mut browser, &live);
        let before = browser.text("#digest");
        (0..3).for_each(|_| step(&mut browser, &mut live));
        assert_ne!(browser.text("#digest"), before);

        browser.click("#play");
        browser.wait_for("Number(document.getElementById('length').textContent)  >= 32");
        browser.click("#play");
        let length: u64 = browser.text("#length").parse().unwrap();
        while live.context.len() < length {
            live.step().unwrap();
        }
        assert_shows(&mut browser, &live);

        browser.evaluate("document.getElementById('alpha').focus()");
        browser.press("ArrowRight", 39);
        live.construct(0.25, 40).unwrap();
        assert_shows(&mut browser, &live);

        browser.click("#reset");
        live.reset();
        assert_shows(&mut browser, &live);

        browser.click("#sample");
        live.sample(Kind::RandomMdp, 5, 33).unwrap();
        assert_shows(&mut browser, &live);

        // Another seed, typed; other kinds of chains.
        browser.evaluate("document.getElementById('seed').select()");
        browser.type_text("77");
        browser.press("Enter", 13);
        browser.evaluate("document.activeElement.blur()");
        live.sample(Kind::RandomMdp, 5, 77).unwrap();
        assert_shows(&mut browser, &live);
        for (code, kind) in [(3, Kind::Ring), (2, Kind::Loop), (1, Kind::BoyanChain)] {
            browser.evaluate(&format!(
                "(() => {{ const e = document.getElementById('kind'); e.value = '{code}'; \
                 e.dispatchEvent(new Event('change')); }})()"
            ));
            live.sample(kind, 5, 77).unwrap();
            step(&mut browser, &mut live);
        }

        // Draw: state 1 gets an edge to itself and loses one; its reward moves.
        browser.click("[data-state=\"1\"]");
        let row = |live: &Live| -> [f32; MAX_STATES] { live.chain.task.transition_from(1).into() };
        let weights = row(&live);
        browser.click("[data-state=\"4\"]");
        assert_eq!(weights[4], 0.0, "Boyan's chain");
        let weights = with_probability(&weights, 4, 1.0 / 3.0);
        live.edit(1, &weights, live.chain.task.reward()[1]).unwrap();
        assert_shows(&mut browser, &live);
        browser.evaluate("document.getElementById('edit-reward').focus()");
        browser.press("End", 35);
        let reward = browser.evaluate("Number(document.getElementById('edit-reward').value)");
        assert_eq!(reward, 2.0);
        live.edit(1, &row(&live), 2.0).unwrap();
        assert_shows(&mut browser, &live);
        // The probability of staying, by its slider.
        browser.evaluate("document.getElementById('edit-1').focus()");
        browser.press("ArrowRight", 39);
        live.edit(1, &with_probability(&row(&live), 1, 0.01), 2.0).unwrap();
        step(&mut browser, &mut live);
        browser.evaluate("document.getElementById('chain').scrollIntoView()");
        browser.screenshot(&format!("edit-{width}.png"), false);
        // No edge left: refused in words, and the chain stays.
        browser.click("[data-state=\"1\"]");
        browser.click("[data-state=\"3\"]");
        browser.click("[data-state=\"4\"]");
        let refusal = browser.text("#live-refusal");
        assert!(refusal.contains("out of range"), "{refusal}");
        assert_shows(&mut browser, &live);
        assert_eq!(browser.problems(), [""; 0]);
    }
}

#[test]
fn the_page_predicts_signals_and_the_readers_hand_as_the_core_does() {
    let Some(mut browser) = browser("the report's signals") else { return };
    let out = Folder::new();
    browser.set_screen(1280, 800, false);
    browser.open(&page_of_demo(&out));
    browser.wait_for("!document.getElementById('signals-app').hidden");
    let play = |browser: &mut Browser, samples: usize| -> usize {
        browser.click("#signals-play");
        let length = "Number(document.getElementById('signals-length').textContent)";
        browser.wait_for(&format!("{length} >= {samples}"));
        browser.click("#signals-play");
        assert_eq!(browser.text("#signals-play"), "Play");
        browser.text("#signals-length").parse().unwrap()
    };
    let length = play(&mut browser, 350);
    let mut signals = Signals::new(1).unwrap();
    for _ in 0..length {
        signals.advance();
    }
    assert_eq!(browser.text("#signals-digest"), format!("{:016x}", signals.digest.value()));
    for s in 0..2 {
        // Judged against what followed; each horizon on its own.
        let error: f64 = browser.text(&format!("#signals-error-{s}")).parse().unwrap();
        assert!(error > 0.0 && error < 5.0, "{error}");
    }
    browser.evaluate("document.getElementById('signals').scrollIntoView()");
    browser.screenshot("signals.png", false);
    // Other signals begin anew.
    let before = browser.text("#signal-name-0");
    browser.click("#signals-new");
    assert_eq!(browser.text("#signals-length"), "0");
    // The reader's hand, which lies still in the middle of the button.
    browser.evaluate(
        "(() => { const kind = document.getElementById('signals-kind'); kind.value = 'hand'; \
         kind.dispatchEvent(new Event('change')); \
         dispatchEvent(new PointerEvent('pointermove', { clientX: innerWidth / 4, clientY: 0 })); })()",
    );
    assert_ne!(browser.text("#signal-name-0"), before);
    browser.evaluate("document.getElementById('signals-play').click()");
    browser.wait_for("Number(document.getElementById('signals-length').textContent) >= 5");
    browser.evaluate("document.getElementById('signals-play').click()");
    let length: usize = browser.text("#signals-length").parse().unwrap();
    let mut hand = Signals::new(2).unwrap();
    for _ in 0..length {
        hand.observe([0.25, 1.0]);
    }
    assert_eq!(browser.text("#signals-digest"), format!("{:016x}", hand.digest.value()));
    assert_eq!(browser.problems(), [""; 0]);
}
