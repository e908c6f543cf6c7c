// Uses the API with the client of oapi-codegen.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"

	"parley-test-client/parley"
)

func main() {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))
		return nil
	}
	client, err := parley.NewClientWithResponses(os.Getenv("URL"), parley.WithRequestEditorFn(authorize))
	if err != nil {
		log.Fatal(err)
	}
	name := "Ada"
	body := parley.NewContact{Phone: "+14155550191", Name: &name}
	created, err := client.CreateContactWithResponse(context.Background(), nil, body)
	if err != nil {
		log.Fatal(err)
	}
	if created.JSON201 == nil {
		log.Fatal(string(created.Body))
	}
	read, err := client.GetContactWithResponse(context.Background(), created.JSON201.Data.Id)
	if err != nil {
		log.Fatal(err)
	}
	if read.JSON200 == nil {
		log.Fatal(string(read.Body))
	}
	json.NewEncoder(os.Stdout).Encode([]any{created.StatusCode(), read.JSON200.Data.Name})
}
