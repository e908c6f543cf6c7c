-- A caller of the API can opt a contact out of broadcasts too. All stored values meet the new rule, so no row is checked.
alter table contacts drop constraint contacts_opted_out_by_check;
alter table contacts add constraint contacts_opted_out_by_check
  check (opted_out_by in ('customer', 'channel', 'member', 'api')) not valid;
