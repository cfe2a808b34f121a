package feishusim

// department is a part of the tenant.
type department struct {
	id, name, parent string // parent is empty at the top
}

// AddDepartment adds a department below another one, or at the top when parent is empty, and returns its id.
func (w *world) AddDepartment(name, parent string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := newID("od_")
	w.departments[id] = &department{id, name, parent}
	return id
}

// Assign sets the departments of a person.
func (w *world) Assign(u User, departments ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.departmentsByUser[u.OpenID] = departments
}

// departmentAPI serves the parents of a department (page contact-v3/department/parent).
type departmentAPI struct{ world *world }

func (a *departmentAPI) routes() []route {
	return []route{api("GET /open-apis/contact/v3/departments/parent", a.parents)}
}

func (a *departmentAPI) parents(q *request) (any, *refusal) {
	a.world.mu.Lock()
	defer a.world.mu.Unlock()
	query := q.URL.Query()
	// The real API also accepts the tenant's own department IDs; this double has only open IDs.
	if kind := query.Get("department_id_type"); kind != "open_department_id" {
		return nil, refuse(RuleField, codeField, "department_id_type %q", kind)
	}
	d := a.world.departments[query.Get("department_id")]
	if d == nil {
		return nil, refuse(RuleUnknownID, codeField, "no department %q", query.Get("department_id"))
	}
	items := []any{}
	for d = a.world.departments[d.parent]; d != nil; d = a.world.departments[d.parent] {
		parent := d.parent
		if parent == "" {
			parent = "0"
		}
		items = append(items, map[string]any{
			"name": d.name, "open_department_id": d.id, "parent_department_id": parent,
		})
	}
	return map[string]any{"items": items, "has_more": false, "page_token": ""}, nil
}
