// Works off what is in graphile-worker's queue, with a task that does nothing, and prints how long that took.
//
//     worker.mjs migrate CONNECTION-URI
//     worker.mjs run CONNECTION-URI JOBS
//
// Its tuning is that of its own documentation's page on performance: jobs are fetched 500 at a time, completions go in batches.
import { run, runMigrations } from "graphile-worker";

const [command, connectionString, jobs] = process.argv.slice(2);

if (command === "migrate") {
  await runMigrations({ connectionString });
} else {
  const wanted = Number(jobs);
  let ran = 0;
  let ready;
  const all = new Promise((resolve) => (ready = resolve));
  const began = process.hrtime.bigint();
  const runner = await run({
    connectionString,
    noHandleSignals: true,
    taskList: {
      noop: () => {
        if (++ran === wanted) ready();
      },
    },
    preset: {
      worker: {
        concurrentJobs: 24,
        maxPoolSize: 25,
        pollInterval: 2000,
        preparedStatements: true,
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
        localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
      },
    },
  });
  await all;
  await runner.stop(); // what is done is written by then
  const seconds = Number(process.hrtime.bigint() - began) / 1e9;
  console.log(JSON.stringify({ events: ran, seconds, per_s: ran / seconds }));
  process.exit(0);
}
