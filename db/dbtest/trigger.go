package dbtest

import "strings"

// Trigger changes what a program writes behind its back, in the words of the database's engine: it lets a write fail, or
// does something else with it. Create and Drop are statements.
type Trigger struct {
	Name string
	On   string // such as BEFORE UPDATE OF state ON turns; the table is last
	If   string // of the rows OLD and NEW; empty = always
	Does string // a statement; empty = the write fails
}

// Create is the statement that makes the trigger.
func (t Trigger) Create() string {
	condition, does := t.If, t.Does
	if condition == "" {
		condition = "TRUE"
	}
	if !OnPostgres() {
		if does == "" {
			does = "SELECT RAISE(ABORT, '" + t.Name + "')"
		}
		return `CREATE TRIGGER ` + t.Name + ` ` + t.On + ` WHEN ` + condition + ` BEGIN ` + does + `; END`
	}
	if does == "" {
		does = "RAISE EXCEPTION '" + t.Name + "'"
	}
	return `DO $do$ BEGIN CREATE FUNCTION ` + t.Name + `() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN IF ` + condition + ` THEN ` + does + `; END IF; RETURN NEW; END $$;
		CREATE TRIGGER ` + t.Name + ` ` + t.On + ` FOR EACH ROW EXECUTE FUNCTION ` + t.Name + `(); END $do$`
}

// Drop is the statement that ends it.
func (t Trigger) Drop() string {
	if !OnPostgres() {
		return `DROP TRIGGER ` + t.Name
	}
	words := strings.Fields(t.On)
	return `DO $do$ BEGIN DROP TRIGGER ` + t.Name + ` ON ` + words[len(words)-1] + `; DROP FUNCTION ` + t.Name + `; END $do$`
}
