package config

import (
	"reflect"
	"slices"
)

// reloadable are the keys that take effect without a restart. All others are read only at startup, because processes,
// the database and the connection were created with them.
var reloadable = []string{
	"[access] owner", "[access] admins", "[access] allow", "[access] deny", "[access] unauthorized_reply",
	"[access] deciders", "[access] approval_timeout", "[budget] turn_usd", "[budget] user_day_usd",
	"[budget] chat_day_usd",
	"[budget] user_day_tokens", "[budget] chat_day_tokens", "[log] level",
}

// Reload returns the configuration of a program that was started with c and has read next: c with the values of next
// that it can apply. It lists the changed keys: those applied, and those that need a restart.
func (c Config) Reload(next Config) (merged Config, applied, later []string) {
	for _, key := range changedKeys(c, next) {
		if slices.Contains(reloadable, key) {
			applied = append(applied, key)
		} else {
			later = append(later, key)
		}
	}
	now, restart := c.reloadApps(next)
	applied, later = append(applied, now...), append(later, restart...)
	c.Access, c.Budget, c.Log.Level = next.Access, next.Budget, next.Log.Level
	return c, applied, later
}

// changedKeys lists the keys with different values, as the file writes them.
func changedKeys(a, b Config) []string {
	var keys []string
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		section := x.Type().Field(i)
		name := section.Tag.Get("toml")
		if name == "-" || !section.IsExported() {
			continue
		}
		if _, key := section.Tag.Lookup("env"); key { // a key outside of sections
			if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
				keys = append(keys, name)
			}
			continue
		}
		for j := range section.Type.NumField() {
			key := section.Type.Field(j).Tag.Get("toml")
			if key != "-" && !reflect.DeepEqual(x.Field(i).Field(j).Interface(), y.Field(i).Field(j).Interface()) {
				keys = append(keys, "["+name+"] "+key)
			}
		}
	}
	return keys
}
