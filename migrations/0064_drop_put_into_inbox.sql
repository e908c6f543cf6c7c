-- Only a release before 0034 needs it. It locked the row of every update once more before it evaluated its condition.
drop trigger put_into_inbox on conversations;
drop function put_into_inbox();
