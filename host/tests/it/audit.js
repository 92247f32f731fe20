// What is wrong with a page as a page: empty figures, missing labels, skipped headings, overflow, and
// text whose contrast is below 4.5 (WCAG AA). An empty list if nothing is.
(() => {
  const wrong = [], name = (e) => e.tagName + "#" + e.id + "." + (e.getAttribute("class") || "");
  const all = (selector) => [...document.querySelectorAll(selector)];
  if (document.documentElement.scrollWidth > innerWidth) {
    for (const e of all("body *")) {
      if (e.getBoundingClientRect().right > innerWidth + 0.5 && !e.closest(".scroll > *, svg *")) wrong.push("beyond the window: " + name(e) + " " + e.textContent.slice(0, 30));
    }
  }
  for (const e of all("svg")) {
    if (getComputedStyle(e).display === "none") continue;
    const box = e.getBoundingClientRect();
    if (!(box.width > 50 && box.height > 50) || e.children.length === 0) wrong.push("empty " + name(e));
    if (!e.getAttribute("aria-label")) wrong.push("no label " + name(e));
    const scale = box.width / (e.viewBox.baseVal.width || box.width);
    for (const t of e.querySelectorAll("text")) {
      const size = scale * parseFloat(getComputedStyle(t).fontSize), at = t.getBoundingClientRect();
      for (const e of t.children) if (scale * parseFloat(getComputedStyle(e).fontSize) < 10) wrong.push("small: " + name(e) + " " + t.textContent);
      if (t.textContent && size < 11.95) wrong.push("text of " + size.toFixed(1) + " px: " + name(e) + " " + t.textContent);
      if (at.left < box.left - 1 || at.right > box.right + 1 || at.top < box.top - 2 || at.bottom > box.bottom + 2) wrong.push("cut: " + name(e) + " " + t.textContent);
    }
  }
  for (const e of all(".panels")) {
    const tops = [...e.children].map((panel) => panel.getBoundingClientRect().top);
    if (innerWidth >= 1280 && new Set(tops).size > 1) wrong.push("a row of panels that wraps " + name(e));
    if (innerWidth >= 1280 && tops.length === 1 && e.parentElement.querySelectorAll(".panels").length > 1) wrong.push("a panel alone " + name(e));
  }
  for (const e of all("img")) {
    if (!e.complete || e.naturalWidth === 0 || e.naturalHeight === 0 || !e.alt) wrong.push("picture " + name(e));
  }
  const ids = all("[id]").map((e) => e.id);
  ids.filter((id, i) => ids.indexOf(id) !== i).forEach((id) => wrong.push("two of " + id));
  let level = 0;
  for (const e of all("h1, h2, h3, h4")) {
    const next = Number(e.tagName[1]);
    if (next > level + 1) wrong.push("heading skips to " + next + ": " + e.textContent);
    level = next;
  }
  for (const e of all("input, select")) if (!e.labels.length) wrong.push("no label " + name(e));
  const rgb = (c) => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
  const light = ([r, g, b]) => { const f = (x) => { x /= 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; }; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || e.closest("script, style, noscript, option, .visually-hidden, .skip") || !e.getClientRects().length) continue;
    const style = getComputedStyle(e);
    if (!e.closest("svg") && parseFloat(style.fontSize) < 10) wrong.push("small: " + name(e) + " " + e.textContent.slice(0, 40));
    const ink = rgb(e.closest("svg") ? style.fill : style.color);
    let under = e.closest("svg .state") ? e.closest(".state").querySelector("circle") : null;
    let ground = under ? rgb(getComputedStyle(under).fill) : null;
    for (let p = e; !ground && p; p = p.parentElement) {
      const c = rgb(getComputedStyle(p).backgroundColor);
      if (c[3] === 1) ground = c;
    }
    ground = ground || [255, 255, 255, 1];
    const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
    texts += 1;
    if (ratio < 4.5) wrong.push("contrast " + ratio.toFixed(2) + " " + name(e) + ": " + e.textContent.slice(0, 40));
  }
  if (texts < 100) wrong.push("only " + texts + " texts");
  return [...new Set(wrong)];
})()
