package api

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// The description has the addresses that there are, and no others.
func TestTheDescriptionHasAllAddresses(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(Description)
	if err == nil {
		err = doc.Validate(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	var described []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	openAI, plain := new(Door).handlers()
	served := slices.Concat(slices.Collect(maps.Keys(openAI)), slices.Collect(maps.Keys(plain)))
	for i := range served {
		served[i] = strings.ReplaceAll(served[i], "...", "") // the rest of the address, which OpenAPI cannot say
	}
	slices.Sort(described)
	if slices.Sort(served); !slices.Equal(described, served) {
		t.Errorf("described: %v\nserved: %v", described, served)
	}
}
