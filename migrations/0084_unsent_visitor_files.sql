comment on table uploads is
  'Files that members and visitors uploaded. Unused ones are deleted after a day, those of visitors after an hour.';
