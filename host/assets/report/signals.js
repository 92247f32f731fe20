// Signals that are predicted as they come: the core does it, this draws it.
function signalsPart(core) {
  const $ = (id) => document.getElementById(id);
  const HORIZONS = [5, 10, 20, 40], SHOWN = 300, AHEAD = 45, LONGEST = 2000, PERIOD = 50, BEGUN = 200;
  // What is not seen of a mean counts with at most this weight; the first samples are not judged.
  const KNOWN = 0.01, UNJUDGED = 50;
  // A surprise beyond this is marked: one sample in a thousand, if nothing is wrong.
  const ALARM = 0.999;
  let values, predictions, surprises, samples, seed = 1, timer = null, hand = [0.5, 0.5];

  const n1 = (x) => x.toFixed(1);
  const horizon = () => Number($("signals-horizon").value);
  const isHand = () => $("signals-kind").value === "hand";

  function done(code) {
    $("signals-refusal").textContent = code === 0 ? "" : "The core refused a sample that is no number, or too large.";
    $("signals-refusal").hidden = code === 0;
    return code === 0;
  }
  function reset() {
    pause();
    values = [[], []];
    predictions = [[], []];
    surprises = [[], []];
    samples = 0;
    if (done(core.signals_reset(seed))) draw();
  }
  /** Takes a sample; true if the core did not refuse it. */
  function observe() {
    if (!done(isHand() ? core.signals_observe(hand[0], hand[1]) : core.signals_next())) return false;
    samples += 1;
    [0, 1].forEach((s) => {
      values[s].push(core.signals_read(0, s, 0));
      predictions[s].push(HORIZONS.map((_, h) => [0, 1, 2].map((part) => core.signals_read(2 + part, s, h))));
      surprises[s].push(core.signals_read(1, s, 0));
      if (values[s].length > LONGEST) [values[s], predictions[s], surprises[s]].forEach((list) => list.shift());
    });
    return true;
  }
  function step() {
    if (!observe()) return pause();
    draw();
    if (!isHand() && samples >= LONGEST) pause();
  }
  function pause() {
    clearInterval(timer);
    timer = null;
    showPlaying();
  }
  function play() {
    if (timer !== null) return pause();
    timer = setInterval(step, PERIOD);
    showPlaying();
  }
  function showPlaying() {
    $("signals-play").textContent = timer === null ? "Play" : "Pause";
    $("signals-play").setAttribute("aria-pressed", String(timer !== null));
    if (timer === null && samples) $("signals-status").textContent = `${samples} samples; squared error over that of the value staying: ${$("signals-error-0").textContent} and ${$("signals-error-1").textContent}.`;
  }

  /** The mean of what followed each sample, weighted by gamma^k; NaN while it is not known. */
  function followed(x, gamma) {
    const means = new Array(x.length).fill(NaN);
    let sum = 0, missing = 1;
    for (let t = x.length - 2; t >= 0; t -= 1) {
      sum = x[t + 1] + gamma * sum;
      missing *= gamma;
      if (missing <= KNOWN) means[t] = ((1 - gamma) * sum) / (1 - missing);
    }
    return means;
  }

  /** Squared errors of the predictions over those of the value itself. */
  function error(s, truth) {
    let ours = 0, stays = 0;
    truth.forEach((y, t) => {
      if (!Number.isFinite(y) || (samples <= LONGEST && t < UNJUDGED)) return;
      ours += (predictions[s][t][horizon()][0] - y) ** 2;
      stays += (values[s][t] - y) ** 2;
    });
    return stays > 0 ? (ours / stays).toPrecision(2) : "–";
  }

  function draw() {
    const gamma = 1 - 1 / HORIZONS[horizon()];
    [0, 1].forEach((s) => {
      const truth = followed(values[s], gamma);
      $(`signals-error-${s}`).textContent = error(s, truth);
      drawSignal(s, truth);
    });
    $("signals-length").textContent = samples;
    $("signals-digest").textContent = BigInt.asUintN(64, core.signals_digest()).toString(16).padStart(16, "0");
    ["horizontally", "vertically"].forEach((way, s) => {
      $(`signal-name-${s}`).textContent = isHand() ? `Your hand, ${way}` : ["First signal", "Second signal"][s];
    });
  }

  function drawSignal(s, truth) {
    const left = 8, right = 392, top = 10, bottom = 224, all = values[s], from = Math.max(0, all.length - SHOWN);
    const shown = all.slice(from), next = predictions[s][all.length - 1] || [];
    const means = next.map((p) => p[0]), low = Math.min(...shown, ...means), high = Math.max(...shown, ...means);
    const middle = shown.length ? (low + high) / 2 : 0, half = Math.max((high - low) / 2, 1e-3 * Math.abs(middle), 1e-9) || 1;
    const x = (t) => left + ((t - from + SHOWN - shown.length) / (SHOWN + AHEAD)) * (right - left);
    const y = (v) => (top + bottom) / 2 - (Math.max(-1.05, Math.min(1.05, (v - middle) / half)) * (bottom - top)) / 2.1;
    const path = (list, colour, width, more = "") => {
      let d = "", pen = false;
      for (let t = from; t < list.length; t += 1) {
        if (Number.isFinite(list[t])) d += `${pen ? "L" : "M"}${n1(x(t))} ${n1(y(list[t]))}`;
        pen = Number.isFinite(list[t]);
      }
      return `<path d="${d}" fill="none" stroke="${colour}" stroke-width="${width}" stroke-linejoin="round"${more}/>`;
    };
    const now = x(all.length - 1);
    let out = `<line class="rule" x1="${n1(now)}" x2="${n1(now)}" y1="${top}" y2="${bottom}"/><text class="faint" x="${n1(now)}" y="236" text-anchor="end">now</text>`;
    if (!all.length) out += `<text class="faint" x="${(left + right) / 2}" y="${(top + bottom) / 2}" text-anchor="middle" font-size="13">Press Play</text>`;
    const edge = (part) => predictions[s].map((p) => p[horizon()][part]);
    const [lows, highs] = [edge(1), edge(2)], known = all.map((_, t) => t).filter((t) => t >= from && Number.isFinite(lows[t]));
    const corner = (t, edges) => `${n1(x(t))} ${n1(y(edges[t]))}`;
    if (known.length) out += `<path d="M${[...known.map((t) => corner(t, lows)), ...known.reverse().map((t) => corner(t, highs))].join("L")}Z" fill="var(--trained)" opacity="0.15"/>`;
    surprises[s].forEach((p, t) => { if (t >= from && p > ALARM) out += `<circle cx="${n1(x(t))}" cy="${n1(y(all[t]))}" r="3.5" fill="none" stroke="var(--ink)"/>`; });
    out += path(all, "var(--ink)", 1, ' opacity="0.75"');
    out += path(truth, "var(--constructed)", 2.4);
    out += path(edge(0), "var(--trained)", 2);
    next.forEach((p, g) => {
      out += `<circle cx="${n1(x(all.length - 1 + HORIZONS[g]))}" cy="${n1(y(p[0]))}" r="${g === horizon() ? 4.5 : 3}" fill="var(--trained)"/>`;
    });
    $(`signal-${s}`).setAttribute("aria-label", all.length ? `${$(`signal-name-${s}`).textContent}: ${all[all.length - 1].toPrecision(3)}; predicted means of the next 5, 10, 20 and 40 samples: ${means.map((p) => p.toPrecision(3)).join(", ")}` : "A signal, not begun");
    $(`signal-${s}`).innerHTML = out;
  }

  $("signals-play").addEventListener("click", play);
  $("signals-new").addEventListener("click", () => { seed = (seed + 1) % 4294967296; reset(); });
  $("signals-kind").addEventListener("change", reset);
  $("signals-horizon").addEventListener("change", draw);
  addEventListener("pointermove", (event) => { hand = [event.clientX / innerWidth, 1 - event.clientY / innerHeight]; });
  $("signals-app").hidden = false;
  reset();
  if (Array.from({ length: BEGUN }).every(observe)) draw();
  whenSeen($("signal-0"), () => { if (timer === null && samples === BEGUN) play(); });
}
