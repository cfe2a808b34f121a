package feishu

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"magpie/internal/text"
)

// Limits of a shape.
const (
	deepestShape = 6
	longestShape = 400 // bytes
	longestName  = 40  // bytes of a key or a tag
)

// shapeOf describes the content of a message by its keys and tags, without anything that users wrote.
func shapeOf(content gjson.Result) string { return text.Clip(shape(content, 0), longestShape) }

func shape(v gjson.Result, deep int) string {
	var parts []string
	switch {
	case deep == deepestShape:
		return "…"
	case v.IsArray():
		for _, e := range v.Array() {
			if s := shape(e, deep+1); !slices.Contains(parts, s) {
				parts = append(parts, s)
			}
		}
		return "[" + strings.Join(parts, " ") + "]"
	case v.IsObject():
		v.ForEach(func(key, value gjson.Result) bool {
			s := shape(value, deep+1)
			if key.String() == "tag" && value.Type == gjson.String {
				s = shapeName(value.String())
			}
			parts = append(parts, shapeName(key.String())+":"+s)
			return true
		})
		return "{" + strings.Join(parts, " ") + "}"
	}
	return v.Type.String()
}

// shapeName is a key or a tag, or a placeholder if a user may have written it.
func shapeName(s string) string {
	if len(s) > longestName || !wellFormed(s) {
		return "?"
	}
	return s
}
