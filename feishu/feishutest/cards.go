package feishutest

import "magpie/internal/chat"

// Mentions are texts with which an agent could mention people, intentionally or not.
var Mentions = []string{
	"<at id=all></at>", "<at id='all'></at>", `<at id="all"/>`, "<AT ID=ALL></AT>",
	"<at user_id=\"all\">everybody</at>", "<at ids=ou_1,ou_2></at>",
	"<at email=a@example.com></at>", "<at\tid=all>", "\\<at id=all></at>", "\\\\<at id=all></at>", "`<at id=all></at>`",
	"`` `<at id=all></at> ``",
	"```\n<at id=all></at>\n```", "~~~\n<at id=all></at>\n~~~", "    <at id=all></at>", "> <at id=all></at>",
	"- [ ] <at id=all></at>",
	"| <at id=all></at> |\n|---|\n| `<at id=all>` |", "[x](<at id=all>)", "![<at id=all>](https://x/y.png)",
	"<<at id=all></at>", "`<at id=all></at>", "**<at id=all></at>**",
	"&lt;at id=all&gt;", "&#60;at id=all&#62;", "@all", "@_all", "@所有人",
}

// AskingCard is a live card with every kind of element: panels, a form and a button.
func AskingCard() chat.Card {
	options := []chat.Option{{Value: "0", Label: "Red"}, {Value: "1", Label: "Green"}}
	return chat.Card{
		Title: "Your turn", State: chat.CardNeedsYou, Status: "waiting", Body: "Which one?", Footer: "3 s", Live: true,
		Panels: []chat.Panel{{Title: "2 steps", Body: "- `ls`"}, {Title: "Thoughts", Body: "hm", Open: true}},
		Form: &chat.Form{
			Fields: []chat.Field{
				{Name: "color", Label: "A color", Hint: "choose", Kind: chat.One, Options: options, Required: true},
				{Name: "more", Label: "More", Kind: chat.Many, Options: options},
				{Name: "why", Label: "Why <at id=all></at>", Kind: chat.Words},
			},
			Buttons: []chat.Button{{Label: "Send", Action: chat.Action{Do: "answer", Turn: 7, ID: "q1"}}},
		},
		Buttons: []chat.Button{{Label: "Stop", Danger: true, Action: chat.Action{Do: "stop", Turn: 7}}},
	}
}
