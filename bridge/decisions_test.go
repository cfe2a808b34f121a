package bridge

import (
	"testing"
	"time"

	"magpie/bridge/approval"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// The list of decisions says of questions and plans what their cards say: nobody allows a question once.
func TestDecisionsAboutQuestionsAndPlans(t *testing.T) {
	t.Parallel()
	cs := &commandSet{zone: time.UTC}
	by := chat.Actor{ID: "ou_1", Name: "小明"}
	question := db.Action{Tool: claude.QuestionTool, Input: `{"questions":[{"question":"用哪种颜色？"}]}`}
	plan := db.Action{Tool: claude.PlanTool, Input: `{"plan":"1. 先这样"}`}
	for _, tc := range []struct {
		what     db.Action
		decision string
		reason   string
		by       chat.Actor
		want     string
	}{
		{question, approval.AllowedOnce, "绿", by, "✅ 小明 已回答：**提问** `用哪种颜色？` · 绿"},
		{question, approval.AllowedOnce, "`v1.2`", by, "✅ 小明 已回答：**提问** `用哪种颜色？` · `v1.2`"},
		{question, approval.Denied, "", by, "🚫 小明 跳过了问题：**提问** `用哪种颜色？`"},
		{question, approval.Unanswered, "", chat.Actor{}, "⌛ 超时无人处理：**提问** `用哪种颜色？`"},
		{plan, approval.AllowedOnce, "", by, "✅ 小明 已批准计划：**计划** `1. 先这样`"},
		{plan, approval.Denied, "先跑测试", by, "✏️ 小明 要求继续规划：**计划** `1. 先这样` · 说明：先跑测试"},
		{plan, approval.Denied, "the project is for looking only", chat.Actor{}, "🚫 未询问，直接拒绝：**计划** `1. 先这样`"},
	} {
		tc.what.Decision, tc.what.Reason = tc.decision, tc.reason
		r := db.RecordedAction{Action: tc.what, By: tc.by, Time: time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)}
		if got, want := cs.decisionLine(r, i18n.Chinese), "- 05-04 08:00 "+tc.want; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
