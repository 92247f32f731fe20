// Colours of numbers, and the moving pictures.
"use strict";

// The figures' scale from -1 (blue) over 0 (white) to 1 (red).
const SCALE = [[18, 63, 125], [44, 113, 178], [107, 165, 208], [186, 214, 233], [250, 250, 250], [250, 203, 180], [231, 141, 113], [195, 64, 64], [122, 8, 38]];
const range = (n) => Array.from({ length: n }, (_, i) => i);
function colour(value) {
  const place = ((Math.min(Math.max(value, -1), 1) + 1) / 2) * 8, below = Math.min(Math.floor(place), 7);
  return `rgb(${range(3).map((i) => Math.round(SCALE[below][i] + (place - below) * (SCALE[below + 1][i] - SCALE[below][i]))).join()})`;
}

// A moving picture can be stopped: its last frame takes its place. Where the frames are known, the
// reader moves through them.
for (const figure of document.querySelectorAll(".moving")) {
  const picture = figure.querySelector("picture"), still = picture.querySelector("source"), image = picture.querySelector("img");
  const bar = document.createElement("div"), button = document.createElement("button");
  const [motion, rest] = [image.src, still.srcset];
  let moves = !matchMedia(still.media).matches, drawing = null;
  bar.className = "bar";
  bar.append(button);
  picture.after(bar);
  still.remove();
  const show = () => {
    image.src = moves ? motion : rest;
    picture.hidden = false;
    if (drawing) drawing.style.display = "none";
    button.textContent = moves ? "Pause animation" : "Play animation";
  };
  button.addEventListener("click", () => {
    moves = !moves || picture.hidden;
    show();
  });
  show();
  if (!figure.dataset.frames) continue;

  const frames = figure.dataset.frames.split("|").map((frame) => frame.split(";"));
  const label = document.createElement("label"), slider = document.createElement("input");
  Object.assign(slider, { type: "range", min: 0, max: frames.length - 1, value: frames.length - 1, autocomplete: "off" });
  label.append("through the training ", slider);
  bar.append(label);
  picture.insertAdjacentHTML("afterend", '<svg viewBox="0 0 640 330" role="img"></svg>');
  drawing = picture.nextElementSibling;
  drawing.style.cssText = "display:none;max-width:" + image.width + "px";
  slider.addEventListener("input", () => {
    const [tasks, ...matrices] = frames[Number(slider.value)];
    let out = `<text x="20" y="24" font-size="17" font-weight="600">After ${tasks} MRPs</text>`;
    matrices.forEach((entries, which) => {
      const numbers = entries.split(" ").map(Number), k = Math.round(Math.sqrt(numbers.length)), side = 252 / k, left = 42 + 308 * which, top = 60;
      out += `<text x="${left}" y="52" font-size="14" font-weight="600">${"PQ"[which]}</text>`;
      numbers.forEach((x, i) => {
        out += `<rect x="${(left + (i % k) * side).toFixed(1)}" y="${(top + Math.floor(i / k) * side).toFixed(1)}" width="${(side + 0.4).toFixed(1)}" height="${(side + 0.4).toFixed(1)}" fill="${colour(x / 100)}"/>`;
      });
      range(k).forEach((i) => {
        const middle = (i + 0.5) * side;
        out += `<text class="faint" x="${left - 8}" y="${(top + middle + 4).toFixed(1)}" text-anchor="end" font-size="12">${i}</text><text class="faint" x="${(left + middle).toFixed(1)}" y="${top + 252 + 16}" text-anchor="middle" font-size="12">${i}</text>`;
      });
    });
    drawing.innerHTML = out;
    drawing.setAttribute("aria-label", `P and Q after ${tasks} MRPs`);
    drawing.style.display = "block";
    picture.hidden = true;
    moves = false;
    button.textContent = "Play animation";
  });
}
