package embed_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"magpie/internal/embed"
	"magpie/internal/growthtest"
	"magpie/internal/racetest"
)

// refusing is an endpoint that reads the texts and refuses them.
type refusing struct{}

func (refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: http.StatusBadRequest, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, err
}

func TestTimeGrowsWithTheText(t *testing.T) {
	racetest.Skip(t)
	c := embed.New(embed.Config{URL: "http://127.0.0.1/v1/embeddings", Model: "m", Transport: refusing{}})
	growthtest.Linear(t, map[string]func(string){
		"Embed": func(s string) {
			if _, err := c.Embed(t.Context(), []string{s}); !errors.Is(err, embed.ErrRefused) {
				t.Fatal(err)
			}
		},
	})
}
