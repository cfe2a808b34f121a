package feishu

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	"github.com/rs/zerolog"

	"magpie/feishu/openapi"
)

// unknownID are the codes for an unknown user or chat, and for a user ID of another app (page "Generic error codes",
// and im-v1/chat/get).
var unknownID = []int{99992351, 99992361, 99992355, 99992356, 232006}

// UnknownIDs returns those users (ou_...) and chats (oc_...) that the platform does not know, as far as the app may
// ask; other IDs are not looked up. It changes nothing on the platform.
func UnknownIDs(ctx context.Context, cfg Config, ids []string) (unknown []string) {
	a := openapi.New(cfg.apiConfig(), zerolog.Nop())
	defer a.HTTP.CloseIdleConnections()
	for _, id := range ids {
		var e *openapi.Error
		if err := checkID(ctx, a, cfg.AppID, id); errors.As(err, &e) && slices.Contains(unknownID, e.Code) {
			unknown = append(unknown, id)
		}
	}
	return unknown
}

// checkID makes a call that fails for an unknown ID. Users' profiles need a separate permission; the lists of who may
// use the app need one that each app has (page application-v6/application-visibility/check_white_black_list).
func checkID(ctx context.Context, a *openapi.Client, app, id string) (err error) {
	switch {
	case strings.HasPrefix(id, "oc_"):
		_, err = a.Call(ctx, openapi.Request{
			Op: "look a chat up", Method: http.MethodGet, Path: openapi.Path("/open-apis/im/v1/chats/", id),
		})
	case strings.HasPrefix(id, "ou_"):
		_, err = a.Call(ctx, openapi.Request{
			Op: "look a user up", Method: http.MethodPost,
			Path:  openapi.Path("/open-apis/application/v6/applications/", app, "/visibility/check_white_black_list"),
			Query: larkcore.QueryParams{"user_id_type": {"open_id"}}, Body: map[string][]string{"user_ids": {id}},
		})
	}
	return err
}
