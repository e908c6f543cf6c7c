-- An earlier text of 0034 had a trigger that locked the row of every update once more before it evaluated its condition.
do $$
begin
  if exists (select from pg_trigger where tgname = 'put_into_inbox' and tgtype & 2 = 2) then
    drop trigger put_into_inbox on conversations;
    drop function put_into_inbox();
  end if;
end $$;
