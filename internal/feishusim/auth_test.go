package feishusim

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
)

func TestTokens(t *testing.T) {
	s := start(t, Config{})
	c := newRest(t, s)
	p := s.PrivateChat(s.AddUser("Tom"))
	c.send(p, "text", obj{"text": "x"})
	s.ExpireTokens()
	path := pathMessages + "?receive_id_type=chat_id"
	c.want(codeTokenInvalid, "POST", path, body(p, "text", obj{"text": "x"})) // the SDK holds on to its token
	fresh, err := c.GetTenantAccessTokenBySelfBuiltApp(t.Context(),
		&larkcore.SelfBuiltTenantAccessTokenReq{AppID: s.AppID(), AppSecret: s.AppSecret()})
	if err != nil || fresh.Code != 0 || fresh.Expire != 7200 {
		t.Fatalf("token: %v %+v", err, fresh)
	}
	if a := c.do("POST", path, body(p, "text", obj{"text": "x"}),
		larkcore.WithTenantAccessToken(fresh.TenantAccessToken)); a.Code != 0 {
		t.Errorf("with a fresh token: %+v", a)
	}
	refuteViolations(t, s)
	for token, code := range map[string]int{"t-stranger": codeTokenInvalid, "u-user": codeTokenUser} {
		if a := c.do("GET", pathMessages+"/x", nil, larkcore.WithTenantAccessToken(token)); a.Code != code {
			t.Errorf("%s: %+v", token, a)
		}
	}
	resp, err := http.Get(s.URL() + pathMessages + "/x")
	if err != nil || resp.StatusCode != 400 {
		t.Fatalf("without a token: %v %v", resp, err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if violated(s, RuleToken) != 4 { // the SDK tries the stranger's twice
		t.Errorf("violations %+v", s.Violations())
	}
}

func TestTokenRules(t *testing.T) {
	a := newAuth(Config{AppID: "cli_a", AppSecret: "s", TokenTTL: 2 * time.Hour})
	t0 := time.Now()
	first, life := a.issue(t0)
	again, left := a.issue(t0.Add(89 * time.Minute))
	if again != first || life != 2*time.Hour || left != 31*time.Minute {
		t.Errorf("token %v %v, %v %v", again, left, first, life)
	}
	second, _ := a.issue(t0.Add(91 * time.Minute))
	if second == first || a.check("Bearer "+first, t0.Add(91*time.Minute)) != nil ||
		a.check("Bearer "+second, t0.Add(91*time.Minute)) != nil {
		t.Error("both tokens must be valid")
	}
	if bad := a.check("Bearer "+first, t0.Add(121*time.Minute)); bad == nil || bad.code != codeTokenInvalid ||
		bad.rule != RuleToken {
		t.Errorf("expired: %v", bad)
	}
}

func TestWrongSecretGetsNoToken(t *testing.T) {
	s := start(t, Config{})
	for in, code := range map[string]int{
		`{"app_id":"cli_x","app_secret":"x"}`:             codeAppParam,
		`{"app_id":"` + s.AppID() + `","app_secret":"x"}`: codeAppSecret,
	} {
		resp, err := http.Post(s.URL()+"/open-apis/auth/v3/tenant_access_token/internal", "application/json",
			strings.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		var a answer
		if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || a.Code != code || resp.StatusCode != 200 {
			t.Errorf("%s: %+v %v", in, a, err)
		}
		resp.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	for _, c := range s.Calls() {
		if c.Body != "" {
			t.Errorf("a secret was recorded: %s", c.Body)
		}
	}
}
