// The live part: asks the core, compiled to WebAssembly, for every number and draws it.
(async () => {
  const $ = (id) => document.getElementById(id);
  const bytes = Uint8Array.from(atob("MODULE"), (c) => c.charCodeAt(0));
  let core;
  try {
    const exports = (await WebAssembly.instantiate(bytes)).instance.exports;
    // The numbers that `read` of the module knows, in its order.
    const names = ["states", "state", "len", "least_msve", "probability", "reward", "true_value", "msve", "value", "token", "statistic"];
    const readers = names.map((name, what) => [name, (i = 0, j = 0) => exports.read(what, i, j)]);
    core = { ...exports, ...Object.fromEntries(readers) };
  } catch (error) {
    refuse("This browser does not run WebAssembly: " + error.message);
    return;
  }
  // It begins with some transitions, so that there is something to see before it moves.
  const FEATURES = 4, TOKEN = 2 * FEATURES + 1, COLUMNS = 44, LONGEST = 2000, BEGUN = 20;
  const REFUSALS = [
    "",
    "This chain has no unique stationary distribution: connect its states.",
    "A number grew without bound.",
    "That is out of range.",
  ];
  let history, columns, last, chosen = null, timer = null;

  const states = () => core.states();
  const hex = (digest) => BigInt.asUintN(64, digest).toString(16).padStart(16, "0");
  const decimals = (x, n = 2) => (Number.isFinite(x) ? x.toFixed(n).replace("-", "−") : "–");
  const error = (x) => (!Number.isFinite(x) ? "–" : x >= 1e-3 && x < 1e4 ? x.toPrecision(3) : x.toExponential(1).replace("-", "−"));

  function refuse(reason) {
    $("live-refusal").textContent = reason;
    $("live-refusal").hidden = !reason;
  }
  /** Says why the core refused; true if it did not. */
  function done(code) {
    refuse(REFUSALS[code]);
    return code === 0;
  }

  /* What happens. */

  function fresh() {
    history = [];
    columns = [];
    last = null;
    draw();
  }
  function reset() {
    pause();
    if (done(core.reset())) fresh();
  }
  /** Observes a transition; true if the core did not refuse it. */
  function observe() {
    const from = core.state();
    if (!done(core.step())) return false;
    last = [from, core.state()];
    history.push([core.msve(0), core.msve(1)]);
    columns.push(range(TOKEN).map((i) => core.token(i)));
    if (columns.length > COLUMNS) columns.shift();
    return true;
  }
  function step() {
    if (!observe()) return pause();
    draw();
    if (core.len() >= LONGEST) pause();
  }
  function play() {
    if (timer !== null) return pause();
    timer = setInterval(step, 110);
    showPlaying();
  }
  function pause() {
    clearInterval(timer);
    timer = null;
    showPlaying();
    say();
  }
  function showPlaying() {
    $("play").textContent = timer === null ? "Play" : "Pause";
    $("play").setAttribute("aria-pressed", String(timer !== null));
  }
  function say() {
    if (!history) return;
    $("live-status").textContent = `Context length ${core.len()}; value error ${error(core.msve(0))} constructed, ${error(core.msve(1))} trained.`;
  }
  function integer(input) {
    const x = Math.round(Number(input.value) || 0);
    return Math.min(Number(input.max), Math.max(Number(input.min), x));
  }
  function sample() {
    pause();
    $("states").value = integer($("states"));
    $("seed").value = integer($("seed"));
    choose(null);
    if (done(core.sample(Number($("kind").value), integer($("states")), integer($("seed"))))) fresh();
  }
  function construct() {
    const alpha = Number($("alpha").value), depth = Number($("depth").value);
    $("alpha-value").value = alpha.toFixed(2);
    $("depth-value").value = depth;
    if (done(core.construct(alpha, depth))) draw();
  }

  /* Editing the chain. */

  function choose(state) {
    chosen = state;
    $("chain-hint").textContent = state === null ? "Rewards inside. Click a state to edit it." : "Click another state to add or remove an edge to it; the same one to finish.";
    showEditor();
  }
  function row() {
    return range(states()).map((s) => core.probability(chosen, s));
  }
  function edit(weights, reward) {
    pause();
    weights.forEach((w, s) => core.weight(s, w));
    if (done(core.edit(chosen, reward))) fresh();
    showRow();
  }
  /** A probability to a state; the others keep their proportions. */
  function withProbability(base, state, p) {
    const rest = base.reduce((sum, w, s) => (s === state ? sum : sum + w), 0);
    return base.map((w, s) => (s === state ? p : rest > 0 ? (w * (1 - p)) / rest : (1 - p) / (base.length - 1)));
  }
  function toggle(state) {
    const base = row(), edges = base.filter((p) => p > 0).length;
    const weights = base[state] > 0 ? base.map((w, s) => (s === state ? 0 : w)) : withProbability(base, state, 1 / (edges + 1));
    edit(weights, core.reward(chosen));
    $("editor").refresh();
  }
  function showEditor() {
    const form = $("editor");
    form.hidden = chosen === null;
    if (chosen === null) return form.replaceChildren();
    const slider = (id, name, low, high, by) => `<label>${name}<input type="range" id="${id}" min="${low}" max="${high}" step="${by}"><output></output></label>`;
    form.innerHTML = `<p>State ${chosen}</p>` + slider("edit-reward", "reward", -2, 2, 0.05) +
      range(states()).map((s) => slider(`edit-${s}`, `to ${s}`, 0, 1, 0.01)).join("");
    // While a slider is held, the others' proportions are those from before.
    let before = row();
    form.querySelectorAll("input").forEach((input) => {
      input.addEventListener("change", () => { before = row(); });
      input.addEventListener("input", () => {
        if (input.id === "edit-reward") edit(row(), Number(input.value));
        else edit(withProbability(before, Number(input.id.slice(5)), Number(input.value)), core.reward(chosen));
      });
    });
    form.refresh = () => { before = row(); };
    showRow();
  }
  function showRow() {
    if (chosen === null) return;
    const show = (input, value, words) => {
      if (document.activeElement !== input) input.value = value;
      input.nextElementSibling.value = words;
    };
    show($("edit-reward"), core.reward(chosen), decimals(core.reward(chosen)));
    row().forEach((p, s) => show($(`edit-${s}`), p, `${Math.round(100 * p)} %`));
  }

  /* Drawing. */

  function draw() {
    drawChain();
    drawValues();
    drawError();
    drawContext();
    $("length").textContent = core.len();
    $("msve-0").textContent = error(core.msve(0));
    $("msve-1").textContent = error(core.msve(1));
    $("digest").textContent = hex(core.digest());
    if (timer === null) say();
  }
  const n1 = (x) => x.toFixed(1);

  function drawChain() {
    const m = states(), radius = 26, at = range(m).map((s) => {
      const angle = (2 * Math.PI * s) / m - Math.PI / 2;
      return [180 + 108 * Math.cos(angle), 166 + 108 * Math.sin(angle), Math.cos(angle), Math.sin(angle)];
    });
    let out = "";
    const edge = (s, t) => {
      const p = core.probability(s, t);
      if (p <= 0) return;
      const isLast = last && last[0] === s && last[1] === t && chosen === null;
      const opacity = chosen !== null ? (s === chosen ? 1 : 0.1) : isLast ? 1 : 0.15 + 0.75 * p;
      const width = (isLast ? 1 : 0) + 0.8 + 3.2 * p, name = isLast ? " last" : "";
      let path, tip, label;
      const [x0, y0, cos, sin] = at[s], [x1, y1] = at[t];
      if (s === t) {
        const far = radius + 15, cx = x0 + far * cos, cy = y0 + far * sin;
        path = `M${n1(x0 + 23 * cos - 12 * sin)} ${n1(y0 + 23 * sin + 12 * cos)}A15 15 0 1 0 ${n1(x0 + 24 * cos + 12 * sin)} ${n1(y0 + 24 * sin - 12 * cos)}`;
        tip = [x0 + 24 * cos + 12 * sin, y0 + 24 * sin - 12 * cos, -cos - 0.35 * sin, -sin + 0.35 * cos];
        label = [cx, cy];
      } else {
        const dx = x1 - x0, dy = y1 - y0, bend = 0.16;
        const cx = (x0 + x1) / 2 - bend * dy, cy = (y0 + y1) / 2 + bend * dx;
        const away = (px, py, r) => {
          const l = Math.hypot(cx - px, cy - py);
          return [px + (r * (cx - px)) / l, py + (r * (cy - py)) / l, (px - cx) / l, (py - cy) / l];
        };
        const a = away(x0, y0, radius), b = away(x1, y1, radius + 7);
        path = `M${n1(a[0])} ${n1(a[1])}Q${n1(cx)} ${n1(cy)} ${n1(b[0])} ${n1(b[1])}`;
        const end = away(x1, y1, radius + 1);
        tip = end;
        label = [0.25 * x0 + 0.5 * cx + 0.25 * x1, 0.25 * y0 + 0.5 * cy + 0.25 * y1];
      }
      out += `<path class="edge${name}" d="${path}" stroke-width="${n1(width)}" opacity="${opacity.toFixed(2)}"/>`;
      const [x, y, ux, uy] = tip, size = 7 + width, half = 0.42 * size;
      out += `<polygon class="tip${name}" opacity="${opacity.toFixed(2)}" points="${n1(x)},${n1(y)} ${n1(x - size * ux - half * uy)},${n1(y - size * uy + half * ux)} ${n1(x - size * ux + half * uy)},${n1(y - size * uy - half * ux)}"/>`;
      if (s === chosen) out += `<text x="${n1(label[0])}" y="${n1(label[1] + 4)}" text-anchor="middle" paint-order="stroke" stroke="var(--raised)" stroke-width="4">${Math.round(100 * p)} %</text>`;
    };
    range(m).forEach((s) => range(m).forEach((t) => edge(s, t)));
    at.forEach(([x, y], s) => {
      const here = s === core.state();
      const words = `State ${s}${here ? ", the agent is here" : ""}, reward ${decimals(core.reward(s))}`;
      out += `<g class="state${here ? " here" : ""}${s === chosen ? " chosen" : ""}" data-state="${s}" role="button" tabindex="0" aria-label="${words}" aria-pressed="${s === chosen}">` +
        `<circle cx="${n1(x)}" cy="${n1(y)}" r="${radius}"/><text class="name" x="${n1(x)}" y="${n1(y)}" text-anchor="middle" font-size="15" font-weight="600">${s}</text>` +
        `<text class="name" x="${n1(x)}" y="${n1(y + 15)}" text-anchor="middle" font-size="14">${decimals(core.reward(s))}</text></g>`;
    });
    const focused = document.activeElement && document.activeElement.closest("#chain .state");
    const keep = focused && focused.dataset.state;
    $("chain").innerHTML = out;
    if (keep) $("chain").querySelector(`[data-state="${keep}"]`)?.focus();
  }

  function drawValues() {
    const m = states(), top = 8, left = 30, right = 350, height = 332, row = (height - top - 26) / m;
    const truth = range(m).map((s) => core.true_value(s));
    const low = Math.min(0, ...truth), high = Math.max(0, ...truth), pad = 0.35 * (high - low) || 1;
    const x = (v) => left + ((Math.min(Math.max(v, low - pad), high + pad) - low + pad) / (high - low + 2 * pad)) * (right - left);
    let out = "", words = [];
    ticks(low - pad, high + pad, 5).forEach((v) => {
      out += `<line class="rule" x1="${n1(x(v))}" x2="${n1(x(v))}" y1="${top}" y2="${height - 22}"/><text class="faint" x="${n1(x(v))}" y="${height - 6}" text-anchor="middle">${tick(v)}</text>`;
    });
    truth.forEach((v, s) => {
      const y = top + (s + 0.5) * row;
      out += `<text class="faint" x="8" y="${y + 4}">${s}</text><line class="rule" x1="${left}" x2="${right}" y1="${y}" y2="${y}"/>`;
      const guess = [0, 1].map((model) => core.value(model, s));
      guess.forEach((g, model) => {
        if (!Number.isFinite(g)) return;
        const colour = model === 0 ? "var(--constructed)" : "var(--trained)", dy = y + (model === 0 ? -5 : 5);
        out += `<line x1="${n1(x(v))}" x2="${n1(x(g))}" y1="${dy}" y2="${dy}" stroke="${colour}" stroke-width="2" opacity="0.55"/>`;
        out += model === 0 ? `<circle cx="${n1(x(g))}" cy="${dy}" r="5" fill="${colour}"/>` : `<rect x="-4.4" y="-4.4" width="8.8" height="8.8" fill="${colour}" transform="translate(${n1(x(g))} ${dy}) rotate(45)"/>`;
      });
      out += `<line x1="${n1(x(v))}" x2="${n1(x(v))}" y1="${y - 11}" y2="${y + 11}" stroke="var(--ink)" stroke-width="2.5"/>`;
      words.push(`state ${s}: true ${decimals(v)}, constructed ${decimals(guess[0])}, trained ${decimals(guess[1])}`);
    });
    $("values").setAttribute("aria-label", `Values: ${words.join("; ")}`);
    $("values").innerHTML = out;
  }
  function ticks(low, high, count) {
    const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
    const by = power * ([1, 2, 5, 10].find((f) => f * power >= raw) || 10), out = [];
    for (let v = Math.ceil(low / by) * by; v <= high + 1e-9; v += by) out.push(Math.abs(v) < by / 1e6 ? 0 : v);
    return out;
  }
  const tick = (v) => String(Number(v.toPrecision(6))).replace("-", "−");

  function drawError() {
    const left = 40, right = 388, top = 10, bottom = 206;
    const all = history.flat().concat(core.least_msve()).filter((v) => v > 0 && Number.isFinite(v));
    const least = Math.min(-2, Math.floor(Math.log10(Math.min(...history.flat().filter((v) => v > 0), 1)))), most = Math.max(0, Math.ceil(Math.log10(Math.max(1e-9, ...all))));
    const bounds = [Math.max(-8, least), Math.min(6, most)];
    const longest = Math.max(20, history.length);
    const x = (n) => left + ((n - 1) / (longest - 1)) * (right - left);
    const y = (v) => {
      const l = v > 0 ? Math.min(Math.max(Math.log10(v), bounds[0]), bounds[1]) : bounds[0];
      return bottom - ((l - bounds[0]) / (bounds[1] - bounds[0])) * (bottom - top);
    };
    let out = "";
    for (let e = bounds[0]; e <= bounds[1]; e += 1) {
      out += `<line class="rule" x1="${left}" x2="${right}" y1="${n1(y(10 ** e))}" y2="${n1(y(10 ** e))}"/><text class="faint" x="${left - 6}" y="${n1(y(10 ** e) + 4)}" text-anchor="end">10<tspan dy="-4" font-size="0.85em">${String(e).replace("-", "−")}</tspan></text>`;
    }
    ticks(1, longest, 5).filter((n) => Number.isInteger(n) && n > 0).forEach((n) => {
      out += `<text class="faint" x="${n1(x(n))}" y="${bottom + 17}" text-anchor="middle">${n}</text>`;
    });
    out += `<text class="faint" x="${right}" y="${bottom + 32}" text-anchor="end">context length n</text>`;
    if (core.least_msve() > 1e-6) {
      const floor = n1(y(core.least_msve()));
      out += `<line x1="${left}" x2="${right}" y1="${floor}" y2="${floor}" stroke="var(--faint)" stroke-dasharray="4 4"/><text class="faint" x="${right}" y="${floor - 5}" text-anchor="end">least possible: the values are not linear in the features</text>`;
    }
    if (!history.length) out += `<text class="faint" x="${(left + right) / 2}" y="${(top + bottom) / 2 - 12}" text-anchor="middle" font-size="13">Press Play: it falls as the context grows</text>`;
    ["var(--constructed)", "var(--trained)"].forEach((colour, model) => {
      let path = "";
      history.forEach((errors, i) => {
        if (Number.isFinite(errors[model])) path += `${path && Number.isFinite(history[i - 1]?.[model]) ? "L" : "M"}${n1(x(i + 1))} ${n1(y(errors[model]))}`;
      });
      out += `<path d="${path}" fill="none" stroke="${colour}" stroke-width="2.2" stroke-linejoin="round"/>`;
      const now = history.length && history[history.length - 1][model];
      if (Number.isFinite(now) && history.length) out += `<circle cx="${n1(x(history.length))}" cy="${n1(y(now))}" r="3.6" fill="${colour}"/>`;
    });
    $("error").setAttribute("aria-label", `Value error after ${history.length} transitions: constructed ${error(core.msve(0))}, trained ${error(core.msve(1))}`);
    $("error").innerHTML = out;
  }

  function drawContext() {
    const cell = 16, wide = 5, left = 32, top = 22, gap = 38, statistic = left + COLUMNS * wide + gap;
    const label = (x, y, text, anchor) => `<text class="faint" x="${x}" y="${y}" text-anchor="${anchor}">${text}</text>`;
    let out = label(left, 13, `Z, ${core.len()} column${core.len() === 1 ? "" : "s"}`, "start") + label(statistic, 13, "G", "start");
    [["φ", FEATURES / 2], ["γφ′", 1.5 * FEATURES], ["R", TOKEN - 0.5]].forEach(([name, middle]) => {
      out += label(left - 6, top + middle * cell + 4, name, "end") + label(statistic - 5, top + middle * cell + 4, name, "end");
    });
    out += `<rect x="${left}" y="${top}" width="${COLUMNS * wide}" height="${TOKEN * cell}" fill="var(--line)" opacity="0.5"/>`;
    columns.forEach((z, j) => z.forEach((v, i) => {
      out += `<rect x="${left + j * wide}" y="${top + i * cell}" width="${wide + 0.3}" height="${cell + 0.3}" fill="${colour(v)}"/>`;
    }));
    const g = range(TOKEN).map((i) => range(TOKEN).map((j) => core.statistic(i, j)));
    const largest = Math.max(...g.flat().map(Math.abs)), side = (394 - statistic) / TOKEN;
    out += `<rect x="${statistic}" y="${top}" width="${394 - statistic}" height="${TOKEN * cell}" fill="var(--line)" opacity="0.5"/>`;
    if (largest > 0) g.forEach((row, i) => row.forEach((v, j) => {
      out += `<rect x="${n1(statistic + j * side)}" y="${top + i * cell}" width="${n1(side + 0.3)}" height="${cell + 0.3}" fill="${colour(v / largest)}"/>`;
    }));
    out += label(left, top + TOKEN * cell + 18, "one column for each transition", "start") + label(394, top + TOKEN * cell + 18, "always 9 × 9", "end");
    $("context").setAttribute("viewBox", `0 0 400 ${top + TOKEN * cell + 26}`);
    $("context").setAttribute("aria-label", `The prompt has ${core.len()} columns; G is a 9 by 9 matrix`);
    $("context").innerHTML = out;
  }

  /* What the reader does. */

  function press(target) {
    const node = target.closest(".state");
    const state = node && Number(node.dataset.state);
    if (!node || state === chosen) choose(null);
    else if (chosen === null) choose(state);
    else return toggle(state);
    drawChain();
  }
  $("step").addEventListener("click", () => { pause(); step(); });
  $("play").addEventListener("click", play);
  $("reset").addEventListener("click", reset);
  $("sample").addEventListener("click", () => {
    $("seed").value = (integer($("seed")) + 1) % 4294967296;
    sample();
  });
  ["kind", "states", "seed"].forEach((id) => $(id).addEventListener("change", sample));
  ["alpha", "depth"].forEach((id) => $(id).addEventListener("input", construct));
  $("editor").addEventListener("submit", (event) => event.preventDefault());
  $("chain").addEventListener("click", (event) => press(event.target));
  $("chain").addEventListener("keydown", (event) => {
    if (event.key === "Escape") { choose(null); drawChain(); }
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    press(event.target);
  });

  const story = hex(core.story()), equal = story === $("story").dataset.expected;
  $("story").textContent = story;
  $("story-verdict").innerHTML = equal ? '<span class="badge holds">equal to the core’s</span>' : '<span class="badge fails">NOT EQUAL to the core’s</span>';
  $("live-app").hidden = false;
  if (done(core.reset())) fresh();
  if (range(BEGUN).every(observe)) draw();
  whenSeen($("chain"), () => { if (timer === null && core.len() === BEGUN) play(); });
  signalsPart(core);
})();
