// What the run takes of its machine.

import { setHidden } from "./dom.js";
import { count, share, size, twoDigits } from "./format.js";
import { showPairs } from "./pairs.js";

export function createMachine(root) {
  const list = root.querySelector(".pairs");

  function show({ machine }) {
    const pairs = [...machine.processes.map((each) => useOf(each, machine.cores)), ...diskOf(machine)];
    if (machine.note) pairs.push(["", machine.note]);
    showPairs(list, pairs);
    setHidden(root, !pairs.length);
  }

  return { show };
}

function useOf({ name, processes, cores, memory }, all) {
  const several = processes > 1 ? ` (${count(processes)})` : "";
  const busy = cores === null ? "" : `${twoDigits(cores)} of ${count(all)} processors, `;
  return [`${name}${several}`, `${busy}${size(memory)} of memory`];
}

function diskOf({ disk_free: free, disk_total: total }) {
  if (free === null) return [];
  return [["disk", `${size(free)} left at the checkpoint, ${share(free / total)} of it`]];
}
