package config

import (
	"strings"
	"testing"
)

func TestHTTPMistakesAreNamed(t *testing.T) {
	for key, bad := range map[string][]HTTP{
		"[http] listen": {{Listen: "9090"}},
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
