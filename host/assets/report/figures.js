// Colours of numbers, and the moving pictures.
"use strict";

// The figures' scale from -1 (blue) over 0 (white) to 1 (red).
const SCALE = [[18, 63, 125], [44, 113, 178], [107, 165, 208], [186, 214, 233], [250, 250, 250], [250, 203, 180], [231, 141, 113], [195, 64, 64], [122, 8, 38]];
const range = (n) => Array.from({ length: n }, (_, i) => i);
function colour(value) {
  if (Number.isNaN(value)) return "rgb(160,160,160)";
  const place = ((Math.min(Math.max(value, -1), 1) + 1) / 2) * 8, below = Math.min(Math.floor(place), 7);
  return `rgb(${range(3).map((i) => Math.round(SCALE[below][i] + (place - below) * (SCALE[below + 1][i] - SCALE[below][i]))).join()})`;
}

/** Begins something that moves once it is on the screen, unless the reader wants no motion. */
function whenSeen(element, begin) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    begin();
  }, { threshold: 0.3 });
  observer.observe(element);
}

// A moving picture: the cells of its frames take the place of those drawn, one frame after the other or as
// the reader moves through them.
for (const figure of document.querySelectorAll(".moving")) {
  const frames = JSON.parse(figure.dataset.frames), last = frames.length - 1;
  const title = figure.querySelector(".title");
  // The first rectangle is the paper; after the cells comes the colour bar.
  const cells = [...figure.querySelectorAll("svg")].flatMap((svg, i) => [...svg.querySelectorAll("rect")].slice(1, 1 + frames[0][1][i].length));
  const bar = document.createElement("div"), button = document.createElement("button");
  const label = document.createElement("label"), slider = document.createElement("input");
  let timer = null;
  bar.className = "bar";
  Object.assign(slider, { type: "range", min: 0, max: last, value: last, autocomplete: "off" });
  label.append("through the training ", slider);
  bar.append(button, label);
  [...figure.querySelectorAll(".panels")].at(-1).after(bar);

  const show = () => {
    const [name, values] = frames[Number(slider.value)];
    title.textContent = name;
    values.flat().forEach((x, i) => cells[i].setAttribute("fill", colour(x === null ? NaN : x / 100)));
  };
  const stop = () => {
    clearTimeout(timer);
    timer = null;
    button.textContent = "Play";
  };
  const play = () => {
    button.textContent = "Pause";
    timer = setTimeout(() => {
      slider.value = Number(slider.value) === last ? 0 : Number(slider.value) + 1;
      show();
      play();
    }, Number(slider.value) === last ? 2150 : 150);
  };
  button.addEventListener("click", () => (timer === null ? play() : stop()));
  slider.addEventListener("input", () => {
    stop();
    show();
  });
  stop();
  whenSeen(figure, play);
}
