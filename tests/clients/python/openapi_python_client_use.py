"""Imports all modules of the client of openapi-python-client, and uses the API with it."""

import importlib
import json
import os
import pkgutil

import parley_client
from parley_client.api.contacts import create_contact, get_contact
from parley_client.models import NewContact

for module in pkgutil.walk_packages(parley_client.__path__, 'parley_client.'):
    importlib.import_module(module.name)

client = parley_client.AuthenticatedClient(
    base_url=os.environ['URL'], token=os.environ['KEY'], raise_on_unexpected_status=True
)
created = create_contact.sync_detailed(client=client, body=NewContact(phone='+14155550191', name='Ada'))
read = get_contact.sync(created.parsed.data.id, client=client)
print(json.dumps([created.status_code, read.data.name]))
