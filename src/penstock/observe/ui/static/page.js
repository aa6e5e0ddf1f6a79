"use strict";
// Everything from outside becomes text nodes and attributes that are numbers: nothing is parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);
let plan = null; // of the job that is shown
let before = null; // the status before this one, for speeds
let speeds = new Map(); // uid, "out " and a uid, or "source " and a name -> records per second
let stream = null;
let shownJob = ""; // the job that was chosen; without one it is the one that began last
let again = 0; // the timer of the next attempt

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function drawn(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const isKnown = (value) => value !== null && value !== undefined;
const whole = (count) => Math.round(count).toLocaleString("en-US");

function records(count) {
  return whole(count) + (count === 1 ? " record" : " records");
}

function speed(perSecond) {
  if (perSecond === null || perSecond === undefined) return "";
  if (perSecond === 0) return "idle";
  return (perSecond < 10 ? perSecond.toFixed(1) : whole(perSecond)) + "/s";
}

const twoUnits = (count, unit, rest, small) => `${count} ${unit}` + (rest ? ` ${rest} ${small}` : "");

function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 0.0995) return Math.round(seconds * 1000) + " ms";
  if (seconds < 59.95) return seconds.toFixed(1) + " s";
  const all = Math.round(seconds);
  if (all < 3600) return twoUnits(Math.floor(all / 60), "min", all % 60, "s");
  if (all < 172800) return twoUnits(Math.floor(all / 3600), "h", Math.floor((all % 3600) / 60), "min");
  return Math.floor(all / 86400).toLocaleString("en-US") + " days";
}

function behind(seconds) {
  if (seconds === null) return "unknown";
  return seconds === 0 ? "not behind" : duration(seconds) + " behind";
}

function bytes(count) {
  if (count < 1000) return whole(count) + " bytes";
  const power = Math.min(Math.floor(Math.log10(count) / 3), 4);
  const units = ["kB", "MB", "GB", "TB"];
  return (count / 1000 ** power).toFixed(1) + " " + units[power - 1];
}

function instant(ms) {
  const at = new Date(ms);
  return Number.isNaN(at.getTime()) ? "" : at.toISOString().replace(".000Z", "Z");
}

const second = (ms) => instant(Math.floor(ms / 1000) * 1000);

function show(id, isShown) {
  byId(id).hidden = !isShown;
}

function fill(id, children) {
  byId(id).replaceChildren(...children);
}

function row(...cells) {
  const made = element("tr");
  made.append(...cells);
  return made;
}

// On a narrow screen a cell has the head of its column beside it.
function fillTable(id, rows) {
  const heads = [...byId(id).closest("table").querySelectorAll("th")].map((head) => head.textContent);
  for (const each of rows) [...each.cells].forEach((cell, at) => { cell.dataset.head = heads[at]; });
  fill(id, rows);
}

const number = (text) => element("td", text, "number");

const restarts = (count) => whole(count) + (count === 1 ? " restart" : " restarts");

// ---- head and failure

function showHead(status) {
  document.title = status.name + " · " + status.status.toLowerCase();
  byId("name").textContent = status.name;
  byId("status").textContent = status.status.toLowerCase();
  byId("status").className = "status " + status.status;
  const reading = status.runs.reduce((sum, run) => sum + (run.records_so_far || 0), 0);
  const facts = [records(status.records + reading) + " read"];
  if (status.behind_seconds !== null) facts.push(behind(status.behind_seconds));
  if (status.restarts) facts.push(restarts(status.restarts));
  if (status.mode) facts.push(status.mode);
  if (plan && plan.parallelism) facts.push("parallelism " + plan.parallelism);
  if (status.started_ms) facts.push("since " + second(status.started_ms));
  byId("facts").textContent = facts.join(" · ");
}

function showFailure(status) {
  const error = status.error;
  show("failure", Boolean(error));
  if (!error) return;
  // What is over is no headline: the job has gone on since.
  const isOver = status.status === "RUNNING" || status.status === "FINISHED";
  const place = isOver ? "after" : "before";
  if (byId("failure").dataset.place !== place) {
    byId("failure").dataset.place = place;
    byId("time-line")[place](byId("failure"));
  }
  byId("failure").className = isOver ? "failure past" : "failure";
  const restarted = { RESTARTING: "The job restarts after a failure", FAILED: "The job has failed" }[status.status] || "The job was restarted after a failure";
  byId("failure-title").textContent = restarted + (error.code ? " · " + error.code : "");
  byId("failure-problem").textContent = error.problem || "";
  byId("failure-hint").textContent = error.hint || "";
  byId("failure-origin").textContent = error.origin ? "at " + error.origin : "";
  const facts = [];
  if (status.error_ms) facts.push(second(status.error_ms));
  if (status.restarts) facts.push(restarts(status.restarts) + " so far");
  byId("failure-restarts").textContent = facts.join(" · ");
}

// ---- time line

function runItem(run, now) {
  const item = element("li", undefined, run.outcome === "running" ? "now" : run.outcome);
  const name = (run.pipeline ? "pipeline " + run.pipeline + " " : "") + run.name;
  item.append(element("span", name, "run-name"));
  const took = ((run.finished_ms === null ? now : run.finished_ms) - run.started_ms) / 1000;
  if (run.finished_ms !== null) {
    item.append(element("span", records(run.records), "big"));
    const how = { done: "in ", failed: "failed after ", stopped: "stopped after ", lost: "lost after " }[run.outcome];
    item.append(element("span", [how + duration(took), speed(run.records_per_second)].filter(Boolean).join(" · "), "small"));
  } else if (run.kind === "batch") {
    item.append(element("span", run.progress === null ? "starting" : Math.floor(run.progress * 100) + " %", "big"));
    const facts = [];
    if (isKnown(run.records_so_far)) facts.push(records(run.records_so_far), speed(run.records_per_second));
    facts.push("since " + duration(took));
    if (run.progress) facts.push("about " + duration((took / run.progress) * (1 - run.progress)) + " left");
    item.append(element("span", facts.filter(Boolean).join(" · "), "small"));
  } else {
    item.append(element("span", records(run.records), "big"));
    const facts = [speed(run.records_per_second)];
    if (run.behind_seconds !== null) facts.push(behind(run.behind_seconds));
    if (run.catch_up_seconds) facts.push("caught up in about " + duration(run.catch_up_seconds));
    if (run.micro_batch !== null) facts.push("micro-batch " + whole(run.micro_batch));
    item.append(element("span", facts.filter(Boolean).join(" · "), "small"));
  }
  if (run.finished_ms === null && run.progress !== null && (run.kind === "batch" || run.progress < 1)) {
    const bar = element("progress");
    bar.max = 1;
    bar.value = run.progress;
    bar.setAttribute("aria-label", name);
    item.append(bar);
  }
  item.append(element("span", "reads " + run.reads, "small"));
  return item;
}

function showRuns(status) {
  const items = [];
  for (const run of status.runs.slice(-12)) {
    if (run.switch_seconds !== null) {
      const item = element("li", undefined, "switch done");
      item.append(element("span", "switch", "run-name"), element("span", duration(run.switch_seconds), "big"));
      items.push(item);
    }
    items.push(runItem(run, status.now_ms));
  }
  fill("runs", items);
  show("no-runs", items.length === 0);
}

// ---- the rounds of an upgrade, a second time line that meets the first

function behindJob(round) {
  if (round.finished_ms === null) return round.number ? "reads what the old job has read meanwhile" : "reads the history";
  if (round.is_last) return "at the position of the old job, which has stopped";
  const told = round.behind.map((each) => `${whole(each.ahead)} ${each.unit} of ${each.source}`);
  return told.length ? "behind the old job by " + told.join(", ") : "not behind the old job";
}

function roundItem(round) {
  const isOver = round.finished_ms !== null;
  const item = element("li", undefined, isOver ? "done" : "now");
  item.append(element("span", "round " + round.number, "run-name"));
  item.append(element("span", records(round.records), "big"));
  const facts = [(isOver ? "in " : "since ") + duration(round.seconds), round.records ? speed(round.records_per_second) : ""];
  if (!isOver && isKnown(round.progress)) facts.push(Math.floor(round.progress * 100) + " %");
  item.append(element("span", facts.filter(Boolean).join(" · "), "small"), element("span", behindJob(round), "small"));
  return item;
}

// The old job stood at the begin of a round where the round ends. What has not ended is estimated.
function meetingLines(rounds, end) {
  const job = [], part = [[rounds[0].started_ms, 0]];
  let total = 0;
  for (const round of rounds) {
    const isOver = round.finished_ms !== null;
    const share = isOver || !round.progress ? 1 : round.progress;
    part.push([round.started_ms, total], [isOver ? round.finished_ms : end, total + round.records]);
    job.push([round.started_ms, total + round.records / share]);
    total += round.records;
  }
  job.push([end, Math.max(total, job[job.length - 1][1])]);
  return { job, part };
}

function showRounds(status) {
  const rounds = status.rounds || [];
  show("new-part", rounds.length > 0);
  if (!rounds.length) return;
  const last = rounds[rounds.length - 1];
  const isMet = last.is_last && last.finished_ms !== null;
  const first = isMet && status.runs.length ? status.runs[0] : null;
  const width = Math.max(byId("meeting").clientWidth, 200), height = 96, begin = rounds[0].started_ms;
  const until = isMet ? Math.max(last.finished_ms, first ? first.started_ms : 0) : status.status === "RUNNING" ? status.now_ms : status.last_event_ms;
  const end = until + (isMet ? (until - begin) * 0.15 : 0);
  const { job, part } = meetingLines(rounds, end);
  const most = Math.max(...job.map(([, count]) => count), 1);
  const x = (ms) => 6 + ((ms - begin) / Math.max(end - begin, 1)) * (width - 12);
  const y = (count) => height - 6 - (count / most) * (height - 26);
  const points = (line) => line.map(([ms, count]) => x(ms).toFixed(1) + "," + y(count).toFixed(1)).join(" ");
  const made = drawn("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img" });
  made.append(drawn("title", {}, "Records read by the job, and by what is new in it" + (isMet ? ", until both meet" : "")));
  for (const round of rounds) made.append(drawn("line", { x1: x(round.started_ms), x2: x(round.started_ms), y1: 20, y2: height - 6, class: "round" }));
  made.append(drawn("polyline", { points: points(job), class: "job" }), drawn("polyline", { points: points(part), class: "new" }));
  if (isMet) {
    made.append(drawn("circle", { cx: x(last.finished_ms), cy: y(most), r: 5 }));
    made.append(drawn("text", { x: x(last.finished_ms), y: 11, "text-anchor": x(last.finished_ms) > width - 30 ? "end" : "middle" }, "meets"));
  }
  fill("meeting", [made]);
  fill("rounds", rounds.slice(-12).map(roundItem));
  byId("met").textContent = isMet ? " · they meet at " + second(last.finished_ms) + (first && isKnown(first.switch_seconds) ? "; the job paused for " + duration(first.switch_seconds) : "") : "";
}

// ---- graph

function heat(share) {
  return [0.02, 0.1, 0.3, 0.6].filter((limit) => share >= limit).length;
}

function showGraph(status) {
  const layout = plan && plan.layout;
  if (!layout || !layout.nodes.length) return fill("graph", [element("p", "The plan is not known.", "empty")]);
  const shares = shareOf(status);
  const hot = new Set(status.operators.filter(isHot).map((each) => each.uid));
  const made = drawn("svg", { viewBox: `0 0 ${layout.width} ${layout.height}`, width: layout.width, height: layout.height, role: "img" });
  made.style.setProperty("--width", layout.width + "px"); // as wide as its place, down to a share that can be read
  made.append(drawn("title", {}, "Graph of the job"));
  for (const edge of layout.edges) {
    const points = edge.points.map(([x, y]) => x + "," + y).join(" ");
    made.append(drawn("polyline", { points, class: edge.is_exchange ? "edge exchange" : "edge" }));
    const [x, y] = edge.points[edge.points.length - 1];
    made.append(drawn("polygon", { points: `${x},${y} ${x - 4},${y - 8} ${x + 4},${y - 8}`, class: "tip" }));
  }
  for (const edge of layout.edges) { // above all lines
    const rate = rateOf(edge);
    const label = [edge.label, rate ? speed(rate) : ""].filter(Boolean).join(" · ");
    if (label) made.append(drawn("text", { x: edge.label_at[0] + 6, y: edge.label_at[1], class: "rate" }, label));
  }
  for (const node of layout.nodes) {
    const share = shares.get(node.uid) || 0;
    const group = drawn("g", { class: `node ${node.kind === "source" || node.kind === "sink" ? node.kind : "operator"} heat-${heat(share)}${hot.has(node.uid) ? " hot" : ""}` });
    group.append(drawn("rect", { x: node.x, y: node.y, width: node.width, height: node.height, rx: node.kind === "source" || node.kind === "sink" ? 15 : 5, class: "box" }));
    const middle = node.x + node.width / 2;
    group.append(drawn("text", { x: middle, y: node.y + 18 }, node.label));
    const details = [node.details];
    if (share >= 0.005) details.push(Math.round(share * 100) + " %");
    if (hot.has(node.uid)) details.push("hot");
    group.append(drawn("text", { x: middle, y: node.y + 34, class: "detail" }, details.join(" · ")));
    group.append(drawn("title", {}, [node.name, node.uid, node.origin].filter(Boolean).join("\n")));
    made.append(group);
  }
  const isFirst = !byId("graph").querySelector("svg");
  fill("graph", [made]);
  if (isFirst) performance.mark("drawn"); // for measuring
}

// What an operator emits, or a source has read, is on each way out of it; of a side output it is known if there is one way in.
function rateOf(edge) {
  if (edge.source_name !== null) return speeds.get("source " + edge.source_name);
  const out = edge.is_side ? undefined : speeds.get("out " + edge.source_uid);
  return out === undefined && edge.is_only_input ? speeds.get(edge.target_uid) : out;
}

function shareOf(status) {
  const all = status.operators.reduce((sum, each) => sum + each.busy_seconds, 0);
  return new Map(status.operators.map((each) => [each.uid, all ? each.busy_seconds / all : 0]));
}

// ---- tables

function counts(status) {
  const sources = Object.entries(status.sources).map(([name, count]) => ["source " + name, count]);
  const received = [...status.operators, ...status.sinks].map((each) => [each.uid, each.records]);
  const emitted = status.operators.filter((each) => isKnown(each.records_out)).map((each) => ["out " + each.uid, each.records_out]);
  return new Map([...received, ...emitted, ...sources]);
}

function noteSpeeds(status) {
  if (before === null || status.last_event_ms <= before.last_event_ms) {
    if (status.now_ms - status.last_event_ms > 15000) speeds = new Map(); // idle
    if (before === null) before = status;
    return;
  }
  const elapsed = (status.last_event_ms - before.last_event_ms) / 1000;
  if (elapsed < 0.9) return;
  const known = counts(before);
  const found = new Map();
  for (const [key, count] of counts(status)) {
    const had = known.get(key);
    if (had !== undefined && count >= had) found.set(key, (count - had) / elapsed);
  }
  speeds = found;
  before = status;
}

const isHot = (operator) => isKnown(operator.hot_subtask);

function hotLine({ hot_subtask: hot, subtask_records: received }) {
  const share = received[hot] / received.reduce((sum, count) => sum + count, 0);
  return `subtask ${hot} of ${received.length} is hot: it gets ${Math.round(share * 100)} % of the records`;
}

function showOperators(status) {
  const shares = shareOf(status);
  const rows = status.operators.map((each) => {
    const name = element("td", undefined, "depth-" + Math.min(each.level, 3));
    name.append(element("div", each.name), element("div", each.kind + (each.uid === each.name ? "" : " · " + each.uid), "uid"));
    if (isHot(each)) name.append(element("div", hotLine(each), "hot"));
    if (each.combined_in) name.append(element("div", `combined before the exchange: ${whole(each.combined_in)} to ${whole(each.combined_out)}`, "uid"));
    if (each.late_records) name.append(element("div", `late records dropped: ${whole(each.late_records)}`, "uid late"));
    const state = [];
    if (isKnown(each.state_keys)) state.push(whole(each.state_keys) + (each.state_keys === 1 ? " key" : " keys"));
    if (isKnown(each.state_bytes)) state.push(bytes(each.state_bytes));
    const mark = element("td", undefined, "number");
    if (isKnown(each.watermark_ms)) mark.append(element("div", second(each.watermark_ms)), element("div", "lags " + duration((status.now_ms - each.watermark_ms) / 1000), "uid"));
    return row(
      name, number(whole(each.records)), number(isKnown(each.records_out) ? whole(each.records_out) : ""), number(speed(speeds.get(each.uid))),
      number(duration(each.busy_seconds)), number(Math.round((shares.get(each.uid) || 0) * 100) + " %"), mark, number(state.join(" · ")),
    );
  });
  fillTable("operators", rows);
  show("no-operators", rows.length === 0);
  const isHistory = status.runs.some((run) => run.kind === "batch" && run.finished_ms === null);
  byId("no-operators").textContent = isHistory ? "Operators report when history is through." : "Nothing was reported yet.";
}

function showSinks(status) {
  show("sinks-section", status.sinks.length > 0);
  const known = (value, form) => number(isKnown(value) ? form(value) : "");
  fillTable("sinks", status.sinks.map((each) => {
    const name = element("td", each.name);
    if (each.uid !== each.name) name.append(element("div", each.uid, "uid"));
    return row(name, number(whole(each.records)), number(speed(speeds.get(each.uid))), number(whole(each.commits)), number(duration(each.commit_seconds)), known(each.files, whole), known(each.bytes, bytes));
  }));
}

const MOST_SPLITS = 5;

// The splits that have most to read, if a source reports them.
function waitingLines(run) {
  return Object.entries(run.split_records_behind).map(([source, splits]) => {
    const told = Object.entries(splits).slice(0, MOST_SPLITS).map(([split, count]) => `${split} ${whole(count)}`);
    return element("div", `waiting in ${source}: ${told.join(", ")}`, "uid");
  });
}

// The splits that are most behind, if a source has several. Those without a name are tasks that read files.
function splitLines(run, now) {
  return Object.entries(run.split_watermarks).flatMap(([source, marks]) => {
    const known = Object.entries(marks).filter(([split]) => !/^\d+$/.test(split)).sort((one, other) => one[1] - other[1]);
    if (known.length < 2) return [];
    const told = known.slice(0, MOST_SPLITS).map(([split, ms]) => `${split} lags ${duration((now - ms) / 1000)}`);
    return [element("div", `most behind of ${source}: ${told.join(", ")}`, "uid")];
  });
}

function showInputs(status) {
  const rows = status.runs.filter((run) => run.finished_ms === null && run.kind === "live").map((run) => {
    const marks = element("td", Object.entries(run.watermarks).map(([source, ms]) => source + " " + instant(ms)).join(", "));
    marks.append(...waitingLines(run), ...splitLines(run, status.now_ms));
    const known = (count) => (count === null ? "not counted" : whole(count));
    return row(element("td", (run.pipeline ? run.pipeline + " " : "") + run.name), number(known(run.records_behind)), number(known(run.files_behind)), number(behind(run.behind_seconds)), number(run.lag_ms === null ? "" : duration(run.lag_ms / 1000)), marks);
  });
  if (!rows.length) {
    const cell = element("td", "No live run reads now.", "empty");
    cell.colSpan = 6;
    rows.push(row(cell));
  }
  fillTable("inputs", rows);
  const read = Object.entries(status.sources).map(([name, count]) => {
    const rate = speeds.get("source " + name);
    return `${name}: ${records(count)} read${rate ? ", " + speed(rate) : ""}`;
  });
  byId("sources").textContent = read.join(" · ");
}

function showState(status) {
  const state = status.state;
  const uses = ["copy_hits", "copy_catch_ups", "copy_rebuilds"].map((key) => state[key] || 0);
  const facts = [];
  if (state.log_bytes) facts.push(bytes(state.log_bytes) + " of changes were logged");
  if (state.compaction_bytes) facts.push(bytes(state.compaction_bytes) + " were written to keep logs short");
  if (uses.some(Boolean)) facts.push(`local copies were used ${whole(uses[0])} times as they are, ${whole(uses[1])} times with later changes, and rebuilt ${whole(uses[2])} times`);
  show("state-section", facts.length > 0);
  byId("state").textContent = facts.join(" · ");
}

const PARTS = ["job", "commit", "driver"];

function showBatches(status) {
  const batches = status.micro_batches;
  show("batches-section", batches.length > 0);
  if (!batches.length) return;
  const width = 600, height = 100, most = Math.max(...batches.map((each) => each.seconds), 0.001);
  const step = width / Math.max(batches.length, 30);
  const made = drawn("svg", { viewBox: `0 0 ${width} ${height + 14}`, preserveAspectRatio: "none", role: "img" });
  made.append(drawn("title", {}, "Durations of the last micro-batches; the longest took " + duration(most)));
  made.append(drawn("line", { x1: 0, x2: width, y1: height, y2: height, class: "line" }));
  batches.forEach((each, index) => {
    let top = height;
    const group = drawn("g", {});
    const told = PARTS.map((part) => part + " " + duration(each.durations[part] || 0)).join(", ");
    group.append(drawn("title", {}, `micro-batch ${each.number}: ${records(each.records)} in ${duration(each.seconds)} (${told})`));
    for (const part of PARTS) {
      const tall = ((each.durations[part] || 0) / most) * (height - 4);
      top -= tall;
      group.append(drawn("rect", { x: index * step + step * 0.1, y: top, width: step * 0.8, height: Math.max(tall, 0), class: "part-" + part }));
    }
    made.append(group);
  });
  const caption = element("p", `the last ${batches.length}, up to ${duration(most)}`, "empty");
  fill("batches", [made, caption]);
}

function showSavepoints(status) {
  show("savepoints-section", status.savepoints.length > 0);
  fill("savepoints", status.savepoints.map((each) => {
    if (each.problem) return element("li", "failed: " + each.problem);
    const size = each.size_bytes === null ? [] : [bytes(each.size_bytes)];
    return element("li", [each.path, ...size, second(each.at_ms), "took " + duration(each.seconds)].join(" · "));
  }));
}

function showPlan() {
  fill("settings", Object.entries(plan.settings).map(([key, value]) => row(element("td", key), element("td", value))));
  byId("plan").textContent = plan.plan;
  const decided = (plan.layout ? plan.layout.nodes : []).flatMap((node) => (node.decisions || []).map(([about, choice, reason]) => row(element("td", node.name), element("td", about), element("td", choice), element("td", reason))));
  fillTable("decisions", decided);
  show("decisions-details", decided.length > 0);
}

// ---- changing the job

const ACTIONS = {
  "savepoint": { requested: "savepoint requested: it comes with the next micro-batch" },
  "stop-with-savepoint": {
    requested: "stop requested: it comes with the next micro-batch, with a savepoint",
    confirm: "Stop the job with a savepoint? A new job goes on from it; this one does not.",
  },
  "stop": { requested: "stop requested", confirm: "Stop the job? The same command goes on where it stopped." },
};
const KEPT = "penstock-token";
let token = "";
let jobId = "";
let refusal = "";

function takeToken() {
  const found = /^#token=([\w.~-]+)$/.exec(location.hash);
  try {
    if (found) sessionStorage.setItem(KEPT, found[1]);
    token = sessionStorage.getItem(KEPT) || "";
  } catch {
    token = found ? found[1] : token; // the browser keeps nothing for this page
  }
  // Who looks over a shoulder, or at a picture of the page, does not see it.
  if (found) history.replaceState(null, "", location.pathname + location.search);
}

async function ask(action) {
  const { confirm: question } = ACTIONS[action];
  if (question && !window.confirm(question)) return;
  byId(action).disabled = true;
  refusal = "";
  try {
    const headers = { Authorization: "Bearer " + token };
    const answer = await fetch(`jobs/${encodeURIComponent(jobId)}/${action}`, { method: "POST", headers });
    if (answer.status === 401) sessionStorage.removeItem(KEPT);
    if (!answer.ok) refusal = (await answer.json()).problem;
  } catch {
    refusal = "The server does not respond.";
  }
  byId("told").textContent = refusal || ACTIONS[action].requested;
}

function showControl(status) {
  const actions = status.actions || [];
  jobId = status.job_id;
  show("control", actions.length > 0);
  const told = [];
  for (const action of Object.keys(ACTIONS)) {
    const requested = (status.requested || {})[action];
    const isOpen = Boolean(requested && requested.is_open);
    show(action, actions.includes(action) && token !== "");
    byId(action).disabled = isOpen;
    if (isOpen) told.push(ACTIONS[action].requested);
    else if (requested && requested.problem) told.push(requested.problem);
  }
  if (refusal) told.push(refusal);
  if (!token) told.push("Open the address that the server has printed to change the job.");
  const text = told.join(" · ");
  if (byId("told").textContent !== text) byId("told").textContent = text; // a screen reader speaks what changes
}

takeToken();
window.addEventListener("hashchange", takeToken);
for (const action of Object.keys(ACTIONS)) byId(action).addEventListener("click", () => ask(action));

// ---- the stream of the server

function showJobs(jobs, shown) {
  show("chooser", jobs.length > 1);
  const chooser = byId("jobs");
  const wanted = jobs.map((job) => job.id + " " + job.name).join("\n");
  if (chooser.dataset.jobs === wanted) return;
  chooser.dataset.jobs = wanted;
  chooser.replaceChildren(...jobs.map((job) => {
    const option = element("option", job.name);
    option.value = job.id;
    option.selected = job.id === shown;
    return option;
  }));
}

function tell(text, isBad) {
  byId("status").textContent = text;
  byId("status").className = isBad ? "status LOST" : "status";
}

function close() {
  clearTimeout(again);
  if (stream) stream.close();
  stream = null;
}

function listen(job) {
  close();
  shownJob = job;
  plan = before = null;
  speeds = new Map();
  stream = new EventSource("events" + (job ? "?job=" + encodeURIComponent(job) : ""));
  stream.addEventListener("plan", (message) => {
    plan = JSON.parse(message.data);
    before = null;
    showPlan();
  });
  stream.addEventListener("status", (message) => {
    const status = JSON.parse(message.data);
    noteSpeeds(status);
    showJobs(status.jobs, status.job_id);
    showHead(status);
    showControl(status);
    showFailure(status);
    showRuns(status);
    showRounds(status);
    showGraph(status);
    showOperators(status);
    showSinks(status);
    showBatches(status);
    showInputs(status);
    showState(status);
    showSavepoints(status);
  });
  stream.addEventListener("problem", (message) => {
    const told = JSON.parse(message.data);
    tell("cannot be read", true);
    show("failure", true);
    byId("failure-title").textContent = "The job cannot be read";
    byId("failure-problem").textContent = told.problem;
    byId("failure-hint").textContent = told.hint;
    byId("failure-origin").textContent = "";
  });
  stream.addEventListener("end", () => {
    close();
    byId("facts").textContent += " · the server of this page has ended";
  });
  stream.onerror = () => {
    tell("not connected", true);
    // A refusal ends the stream for good, a lost connection does not.
    if (stream && stream.readyState === EventSource.CLOSED) again = setTimeout(() => listen(job), 5000);
  };
}

// A browser has few connections per server, and nothing is to be computed for a page that is covered.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) close();
  else listen(shownJob);
});

byId("jobs").addEventListener("change", (event) => listen(event.target.value));
if (!document.hidden) listen("");
