package stream

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// knownLines are the kinds of lines that the tested versions of the CLI write; docs/claude-cli.md says of each what
// happens with it. Those of a type without subtypes that matter are listed by their type alone.
var knownLines = strings.Fields(`
	assistant user result stream_event control_request control_response control_cancel_request keep_alive
	rate_limit_event prompt_suggestion command_lifecycle tool_progress tool_use_summary auth_status conversation_reset
	transcript_mirror active_goal
	system/init system/status system/api_retry system/informational system/background_tasks_changed
	system/task_notification system/compact_boundary system/elicitation_complete system/agents_killed system/api_error
	system/away_summary system/cloud_session_delta system/code_change_published system/commands_changed
	system/control_request_progress system/dev_intent system/feedback_draft_queued system/file_attachments_missing
	system/file_snapshot system/files_persisted system/hook_progress system/hook_response system/hook_started
	system/inherited_asks_settled system/instruction_size_warning system/late_allow_not_run system/local_command_output
	system/memory_recall system/memory_saved system/mirror_error system/model_consent_fallback system/model_fallback
	system/model_refusal_fallback system/model_refusal_no_fallback system/notification system/peer_message_hold
	system/per_turn_effort_changed system/permission_check_status system/permission_denied system/permission_retry
	system/plugin_install system/post_turn_summary system/scheduled_task_fire system/session_metadata
	system/session_state_changed system/session_title_changed system/session_writes_lost system/shell_cwd
	system/stop_hook_summary system/task_list_statuses system/task_progress system/task_started system/task_summary
	system/task_updated system/thinking system/thinking_tokens system/turn_duration system/turn_handoff_available
	system/turn_preempted system/ui_focus system/ui_invalidate system/ui_log system/ui_notify system/ui_notify_cancel
	system/ui_panes system/ui_placed system/ui_scroll system/ui_status system/ui_toast system/upgrade_relay_marker
	system/vcs_state_changed system/worker_shutting_down
`)

// TasksChanged is the subtype of the line about which background tasks are running. Versions before about 2.1.330 do not
// send it, and present the end of a task to the model as if the user had written it.
const TasksChanged = "background_tasks_changed"

// UnknownKind is the kind of a line that no version known so far writes; empty = it is known, or no line of the protocol.
// A request that nobody here would answer is one of them: of the kind "control_request/" and what it asks for.
func UnknownKind(line []byte) string {
	v := gjson.ParseBytes(line)
	kind := v.Get("type").String()
	switch kind {
	case "stream_event":
		return ""
	case "control_request":
		if _, ok := ReadToolAsk(line); ok {
			return ""
		}
		return UnknownRequest + v.Get("request.subtype").String()
	case "system":
		kind += "/" + v.Get("subtype").String()
	}
	if slices.Contains(knownLines, kind) {
		return ""
	}
	return kind
}

// UnknownRequest begins the kind of a request that nobody here would answer.
const UnknownRequest = "control_request/"
