package config

import (
	"slices"
	"strings"
	"testing"
)

func TestHTTPMistakesAreNamed(t *testing.T) {
	for key, bad := range map[string][]HTTP{
		"[http] listen":     {{Listen: "9090"}},
		"[http] public_url": {{Listen: ":1", PublicURL: "http://a"}, {Listen: ":1", PublicURL: "a.example.com"}},
		"[http] hosts": {
			{Listen: ":1", Hosts: []string{""}}, {Listen: ":1", Hosts: []string{"*"}},
			{Listen: ":1", Hosts: []string{"http://a"}}, {Listen: ":1", Hosts: []string{"a:80"}},
			{Listen: ":1", Hosts: []string{"a b"}},
		},
	} {
		for _, c := range bad {
			if err := c.Validate(); err == nil || !strings.Contains(err.Error(), key) {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
}

// Tokens must not be readable between machines.
func TestTheAPIIsLocalOrBehindHTTPS(t *testing.T) {
	t.Parallel()
	const proxy = "https://magpie.example.com/"
	for c, want := range map[string]HTTP{
		"no":                            {},
		"http://127.0.0.1:80/v1":        {Listen: ":80"},
		"http://[::1]:80/v1":            {Listen: "[::1]:80"},
		"http://localhost:80/v1":        {Listen: "localhost:80"},
		"no ":                           {Listen: "0.0.0.0:80"},
		"no  ":                          {Listen: "[::]:80"},
		"no   ":                         {Listen: "magpie.example.com:80"},
		"https://magpie.example.com/v1": {Listen: "0.0.0.0:80", PublicURL: proxy},
	} {
		if has := !strings.HasPrefix(c, "no"); want.HasAPI() != has || has && want.BaseURL() != c {
			t.Errorf("%+v: %v, %s", want, want.HasAPI(), want.BaseURL())
		}
	}
	if names := (HTTP{Hosts: []string{"a"}, PublicURL: proxy}).Names(); !slices.Equal(names, []string{"a", "magpie.example.com"}) {
		t.Errorf("names: %v", names)
	}
}
