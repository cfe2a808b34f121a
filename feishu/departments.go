package feishu

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"

	"magpie/feishu/openapi"
)

// errDepartmentsHidden means that the app may not see departments: it lacks a permission, or the user is outside its
// range.
var errDepartmentsHidden = errors.New("the platform does not show a user's departments (permissions " +
	strings.Join(ForDepartments, ", ") + ")")

// maxDepartments limits the lookups for one user.
const maxDepartments = 50

// Departments lists the departments of a user (od_...), including their parents (pages contact-v3/user/get and
// contact-v3/department/parent).
func (c *Client) Departments(ctx context.Context, userID string) ([]string, error) {
	answer, err := c.api.Call(ctx, openapi.Request{
		Op: "look up a user's departments", Method: http.MethodGet,
		Path:  openapi.Path("/open-apis/contact/v3/users/", userID),
		Query: larkcore.QueryParams{"user_id_type": {"open_id"}, "department_id_type": {"open_department_id"}},
	})
	if err != nil {
		return nil, err
	}
	own := answer.Get("data.user.department_ids")
	if !own.IsArray() {
		return nil, errDepartmentsHidden
	}
	var ids []string
	for _, id := range own.Array() {
		// The limit is on lookups: a user of very many departments must not use up the app's quota.
		if ids = append(ids, openapi.String(id)); len(ids) > maxDepartments {
			break
		}
		above, err := c.api.Call(ctx, openapi.Request{
			Op: "look up a department's parents", Method: http.MethodGet,
			Path: "/open-apis/contact/v3/departments/parent",
			Query: larkcore.QueryParams{
				"department_id": {id.String()}, "department_id_type": {"open_department_id"}, "page_size": {"50"},
			},
		})
		if err != nil {
			return nil, err
		}
		for _, d := range above.Get("data.items").Array() {
			ids = append(ids, openapi.String(d.Get("open_department_id")))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
