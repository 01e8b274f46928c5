// Compares the look of 60 pages on the web with that of their copies. `node looks.js FOLDER [WAYBACK]` writes the pictures
// and prints a table; WAYBACK is pywb's program of that name.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PAGES } from "./looks-site.js";
import { LETTERS, looks } from "./looks-views.js";

const [folder, wayback] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
const all = await looks(wayback);
const copies = all.views.slice(1);
const percent = (share) => `${(100 * share).toFixed(2)} %`;
const shares = Object.fromEntries(copies.map((view) => [view, []]));
console.log(["page".padEnd(24), ...copies.map((view) => view.padStart(10))].join(""));
for (const path of PAGES) {
  const pictures = {};
  for (const view of all.views) {
    pictures[view] = await all.picture(path, view);
    await writeFile(join(folder, `${path.slice(1).replaceAll("/", "-")}-${view}.png`), pictures[view]);
  }
  let row = path.padEnd(24);
  for (const view of copies) {
    const share = await all.difference(pictures.live, pictures[view]);
    shares[view].push(share);
    row += percent(share).padStart(10);
  }
  console.log(row);
}
for (const view of copies) {
  const sorted = shares[view].sort((a, b) => a - b);
  const same = sorted.filter((share) => share < LETTERS).length;
  console.log(`${view}: ${same} of ${sorted.length} within ${percent(LETTERS)}, median ${percent(sorted[sorted.length >> 1])}, worst ${percent(sorted.at(-1))}`);
}
await all.stop();
