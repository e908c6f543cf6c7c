-- Previews of automations run in a hidden workspace of their own, so nothing of them is in the data of the workspace they belong to.
alter table workspaces add column preview_of uuid;
alter table workspaces add column preview_until timestamptz;
comment on column workspaces.preview_of is 'Of the hidden workspace in which the draft of an automation runs: the workspace of the automation. The id is that of the automation.';
comment on column workspaces.preview_until is 'When the preview ends by itself. A worker then deletes the workspace.';
create index workspaces_with_previews on workspaces (preview_until) where preview_until is not null;
