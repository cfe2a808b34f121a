package workspace

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A spare process equals the one that its turn would have started. A new field of Spec must either be listed here as
// one of the chat, or be set in spare processes.
func TestASpareHasWhatItsTurnAsksFor(t *testing.T) {
	const own, given, none = "its own", "given to it when a chat takes it", "no turn with it takes a spare process"
	different := map[string]string{
		"Session": own, "Files": own, "Tools": own, "Name": given,
		"Resume": none, "Known": none, "Budget": none, "Task": none, "Plain": none,
		"Spare": "it is one",
	}
	var wanted Spec
	v := reflect.ValueOf(&wanted).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("wanted")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Float64:
			f.SetFloat(1)
		case reflect.Func:
		default:
			t.Fatalf("Spec.%s is a %v", v.Type().Field(i).Name, f.Kind())
		}
	}
	wanted.Plain = false
	var folder string
	wanted.Spare = func(id string) Spec { folder = id; return Spec{Files: "own", Tools: func() Tools { return Tools{} }} }
	got := wanted.WithoutChat().Unbound("folder")
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if _, ok := different[name]; ok {
			continue
		}
		if f := reflect.ValueOf(got).Field(i); !reflect.DeepEqual(f.Interface(), v.Field(i).Interface()) {
			t.Errorf("%s is %v, and the turn asks for %v", name, f, v.Field(i))
		}
	}
	if !got.Alike(wanted) {
		t.Errorf("%+v does not fit %+v", got, wanted)
	}
	if folder != "folder" || got.Session == wanted.Session || got.Files != "own" || got.Tools == nil || got.Resume ||
		got.Budget != 0 || got.Name != "" || got.Spare != nil {
		t.Errorf("it has a field of the chat: %+v", got)
	}
}

// Arguments, which any user of the machine can read, contain no token. No proxy is used.
func TestToolsOfAProcess(t *testing.T) {
	tools := Tools{
		Server: "magpie", URL: "http://127.0.0.1:7/", Token: "s3cret", Names: []string{"remember", "search_memory"},
	}
	args := tools.arguments()
	want := []string{
		`--mcp-config={"mcpServers":{"magpie":{"alwaysLoad":true,` +
			`"headers":{"Authorization":"Bearer ${MAGPIE_TOOLS_TOKEN}"},"type":"http","url":"http://127.0.0.1:7/"}}}`,
		"--allowedTools=mcp__magpie__remember", "--allowedTools=mcp__magpie__search_memory",
	}
	if !slices.Equal(args, want) {
		t.Errorf("arguments %q", args)
	}
	for _, tc := range []struct{ have, want []string }{
		{nil, []string{"NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1"}},
		{[]string{"no_proxy=a.example,b.example"}, []string{"no_proxy=a.example,b.example,127.0.0.1"}},
		{[]string{"NO_PROXY=", "no_proxy=a.example"}, []string{"NO_PROXY=127.0.0.1", "no_proxy=a.example,127.0.0.1"}},
	} {
		have := slices.Clone(tc.have)
		env := tools.environ(tc.have)
		if !slices.Contains(env, "MAGPIE_TOOLS_TOKEN=s3cret") {
			t.Errorf("no token in %q", env)
		}
		env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "MAGPIE") })
		if !slices.Equal(env, tc.want) || !slices.Equal(tc.have, have) {
			t.Errorf("%q becomes %q", tc.have, env)
		}
	}
	if none := (Tools{}); none.arguments() != nil || len(none.environ([]string{"A=b"})) != 1 {
		t.Error("without tools the arguments or the environment differ")
	}
}
