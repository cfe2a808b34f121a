package contextmgr

import (
	"regexp"
	"strings"

	"magpie/internal/tokenize"
)

// Weights from a question's wording for the messages that may answer it.
const (
	frameWord  = 0.5  // of its weight, for a word that frames a question and is seldom in the answer
	withNumber = 1.3  // for messages with a number, if the question asks for one
	ofQuestion = 0.85 // for messages that are questions themselves

	// For messages of the agent: they repeat at length what people have said before.
	ofAssistant = 0.8
)

// frameWords frame questions: what did they say in the end, 最后一共多少.
var frameWords = termSetOf(`say tell describe explain mention happen call give make take get come go use thing way much
many long often exactly finally later end first time kind sort name ask answer want need know think feel find show turn
react intend suppose now still already since get one two both old new original originally back different differ compare
many last put keep work
多少 什么 怎么 时候 后来 最后 为什 哪个 哪天 几个 哪些 最终 最早 一共 当初 到底 起来 多久 怎样 哪里 哪儿 当时 最初 说的 说了 到了 几点 多长 分别
各多 原来 原定 起初 具体 打算 准备 少钱`)

// asksNumber matches questions that are answered with a number or a date.
var asksNumber = regexp.MustCompile(`(?i)\b(how (much|many|long|far|large|big|heavy|old|often|high)|when|price|cost|` +
	`date|salary|number|time|percent|figures?|takings|score|mark)\b|多少|多久|多长|多大|多高|多重|几|哪天|哪一天|时间|价`)

// numberWords are numbers in words; digits need no list.
var numberWords = func() map[string]bool {
	words := termSetOf(`two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred
thousand half third quarter once twice`)
	for _, n := range "一二两三四五六七八九十百千万" {
		for _, unit := range "年月日号天周个万千百块元分点次人条台岁" {
			words[string([]rune{n, unit})] = true
		}
	}
	return words
}()

// isNumber reports whether a term is a number.
func isNumber(term string) bool { return term[0] >= '0' && term[0] <= '9' || numberWords[term] }

// isQuestion reports whether a text ends with a question.
func isQuestion(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？")
}

// termSetOf are the terms of a text.
func termSetOf(text string) map[string]bool {
	set := map[string]bool{}
	for _, t := range tokenize.Terms(text) {
		set[t] = true
	}
	return set
}
