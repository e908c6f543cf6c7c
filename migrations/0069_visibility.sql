-- Which conversations the agents and the viewers of a workspace see, canned replies of a team, and the order of team deletions.

alter table workspaces
  add column agents_see text not null default 'all' constraint workspaces_agents_see_check check (agents_see in ('all', 'teams', 'own')),
  add column viewers_see text not null default 'all' constraint workspaces_viewers_see_check check (viewers_see in ('all', 'teams', 'own'));
comment on column workspaces.agents_see is 'The conversations that agents see. teams: those of their teams and their own; own: their own, and unassigned ones of their teams.';
comment on column workspaces.viewers_see is 'The same for viewers.';

alter table canned_replies add column team_id uuid;
alter table canned_replies
  add constraint canned_replies_team_fkey foreign key (workspace_id, team_id) references teams (workspace_id, id)
    on delete set null (team_id) not valid;
comment on column canned_replies.team_id is 'Of a shared reply: only the members of this team see it; null: all members of the workspace.';
