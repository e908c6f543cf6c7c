import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.ContactsApi;
import org.openapitools.client.model.NewContact;

/** Uses the API with the client of openapi-generator, `java`. */
class Use {
  public static void main(String[] args) throws Exception {
    Map<String, String> env = System.getenv();
    ApiClient client = new ApiClient();
    client.setBasePath(env.get("URL"));
    client.setBearerToken(env.get("KEY"));
    ContactsApi contacts = new ContactsApi(client);
    NewContact contact = new NewContact().phone("+14155550191").name("Ada");
    var created = contacts.createContactWithHttpInfo(contact, null);
    var read = contacts.getContact(created.getData().getData().getId());
    System.out.println("[" + created.getStatusCode() + ",\"" + read.getData().getName() + "\"]");
  }
}
