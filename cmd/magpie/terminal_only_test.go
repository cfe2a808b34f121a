package main

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"magpie/feishu"
	"magpie/internal/feishusim"
	"magpie/internal/operator/config"
)

// Without Feishu the program runs, holds no app, and says nothing of a platform in its status, its metrics and /doctor.
func TestTheProgramRunsWithoutFeishu(t *testing.T) {
	t.Parallel()
	on := true
	r := makeRig(t, feishusim.Config{}, func(c *config.Config) {
		c.Feishu, c.Terminal.Enabled = feishu.Config{}, &on
	})
	p, err := newProgram(t.Context(), r.cfg, newLog(r.logs, r.cfg.Log), nil)
	must(t, err)
	if p.unlock != nil && p.cfg.DB.DSN().IsFile() || len(p.apps) > 0 {
		t.Error("it holds an app that it does not have")
	}
	for _, c := range p.checks() {
		if c.What == "platform" {
			t.Error("/doctor looks for Feishu")
		}
	}
	ctx, stop := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.run(ctx) }()
	page := httptest.NewRecorder()
	p.metrics.handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	if got := page.Body.String(); page.Code != 200 || strings.Contains(got, "magpie_platform_") ||
		!strings.Contains(got, "magpie_store_up 1") {
		t.Errorf("%d:\n%s", page.Code, got)
	}
	if got := p.statusLine(); got != "waiting for people in the terminal" {
		t.Errorf("the status is %q", got)
	}
	stop(errors.New("the test has ended"))
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := r.sim.Connected(); n != 0 {
		t.Errorf("it connected %v times", n)
	}
}
