package modelsim

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// longRunes is the approximate length of a long answer.
const longRunes = 6000

// longText is Markdown with everything that a long answer has: headings, lists, code, tables, links.
func longText(l language) string {
	var b strings.Builder
	b.WriteString(l.pick("# 一篇长文\n\n", "# A long answer\n\n"))
	for i, n := 1, 0; n < longRunes-300; i++ {
		part := fmt.Sprintf(l.pick(sectionZh, sectionEn), i, i, i, i*i)
		n += len([]rune(part))
		b.WriteString(part)
	}
	b.WriteString(l.pick("## 结语\n\n长文到此**结束**。\n", "## Conclusion\n\nThis is **the end** of the long answer.\n"))
	return b.String()
}

const sectionZh = "## 第 %d 节：桥与河\n\n" +
	"每年七月初七，喜鹊在银河上搭起一座桥，让两岸的人相见。消息也是这样过河的：**一头写下**，*另一头读到*，中间没有人停下来。" +
	"桥不必知道信里写了什么，只要每一封都按顺序送到，一封不丢，一封不重。\n\n" +
	"- 先记下来，再答应；\n- 先答应，再动手；\n- 做完以后，把结果写清楚。\n\n" +
	"1. 过桥的人先排队\n2. 每次只走一个\n3. 走完的人在本子上画一笔\n\n" +
	"```go\n// 第 %d 段代码\nfor _, m := range messages {\n\tfmt.Println(\"过桥：\", m)\n}\n```\n\n" +
	"| 节 | 平方 |\n|---|---|\n| %d | %d |\n\n" +
	"> 河很宽，桥很窄；不要着急。参见 `README.md`。\n\n"

const sectionEn = "## Section %d: rivers and bridges\n\n" +
	"Once a year the magpies build a bridge over the river, so that two people can meet. Messages cross in " +
	"the same way: " +
	"**one side writes**, *the other side reads*, and nobody stops in the middle. The bridge need not know " +
	"what a letter " +
	"says. It only has to deliver each one in order, none lost and none twice.\n\n" +
	"- write it down, then promise;\n- promise, then work;\n- say clearly what came of it.\n\n" +
	"1. Stand in line.\n2. Cross one at a time.\n3. Make a mark in the book.\n\n" +
	"```go\n// piece of code %d\nfor _, m := range messages {\n\tfmt.Println(\"crossing:\", m)\n}\n```\n\n" +
	"| section | square |\n|---|---|\n| %d | %d |\n\n" +
	"> The river is wide and the bridge is narrow: do not hurry. See `README.md`.\n\n"

// fill makes an object that fits a schema. The CLI requests titles of sessions this way.
func fill(schema gjson.Result, about string) string {
	o := object{}
	schema.Get("properties").ForEach(func(key, property gjson.Result) bool {
		switch first := property.Get("enum.0"); {
		case first.Exists():
			o[key.String()] = first.Value()
		case property.Get("type").String() == "string":
			o[key.String()] = shorten(strings.Join(strings.Fields(about), " "), 40)
		case property.Get("type").String() == "boolean":
			o[key.String()] = false
		case property.Get("type").String() == "array":
			o[key.String()] = []string{}
		case property.Get("type").String() == "object":
			o[key.String()] = json.RawMessage(fill(property, about))
		default:
			o[key.String()] = 0
		}
		return true
	})
	raw, err := json.Marshal(o)
	if err != nil {
		return "{}" // cannot happen: all values above marshal
	}
	return string(raw)
}
