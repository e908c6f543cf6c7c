-- The processes of all services, for the page that shows the status of the installation.
create unlogged table service_processes (
  service text not null,
  process text not null,
  report jsonb not null,
  reported_at timestamptz not null,
  primary key (service, process)
);
comment on table service_processes is
  'Processes of all services on this database. Unlogged, so that a heartbeat writes no log. Each process writes its row every ten seconds.';
comment on column service_processes.service is 'Host name and port.';
comment on column service_processes.report is 'Version, start, loops, memory and disks of the process (lib/process/heartbeat.ts).';
