"""Imports all modules of the client of openapi-generator, and uses the API with it."""

import importlib
import json
import os
import pkgutil

import parley_client

for module in pkgutil.walk_packages(parley_client.__path__, 'parley_client.'):
    importlib.import_module(module.name)

configuration = parley_client.Configuration(host=os.environ['URL'], access_token=os.environ['KEY'])
with parley_client.ApiClient(configuration) as client:
    contacts = parley_client.ContactsApi(client)
    contact = parley_client.NewContact(phone='+14155550191', name='Ada')
    created = contacts.create_contact_with_http_info(new_contact=contact)
    read = contacts.get_contact(id=created.data.data.id)
    print(json.dumps([created.status_code, read.data.name]))
