-- Every rule of a stored filter has a value; ops that take none have the empty string.

update segments set filter = jsonb_set(filter, '{rules}', (
  select jsonb_agg('{"value": ""}'::jsonb || rule order by position)
  from jsonb_array_elements(filter -> 'rules') with ordinality as rules (rule, position)
))
where filter @? '$.rules[*] ? (!exists (@.value))';
