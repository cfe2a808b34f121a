package main

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"magpie/internal/i18n"
)

// translate translates the help of a command and its subcommands.
func translate(n *kong.Node) {
	chinese := func(help *string) {
		if text, ok := i18n.HelpInChinese[*help]; ok {
			*help = text
		}
	}
	chinese(&n.Help)
	for _, f := range n.Flags {
		chinese(&f.Help)
	}
	for _, arg := range n.Positional {
		chinese(&arg.Help)
	}
	for _, child := range n.Children {
		translate(child)
	}
}

// headings translates kong's own words around the commands' help. What has the same width on a terminal keeps the
// columns.
var headings = strings.NewReplacer(
	"\nFlags:\n", "\n参数：\n", "\nArguments:\n", "\n位置参数：\n", "\nCommands:\n", "\n命令：\n",
	`" for more information on a command.`, `" 查看某个命令的用法。`, "\nRun \"", "\n运行 \"",
	"<command>", "<命令>", "[flags]", "[参数]", "=PLATFORM", "=平台    ",
)

// argumentWords translates the words that stand for arguments.
var argumentWords = strings.NewReplacer(
	"<file>", "<文件>", "<folder>", "<文件夹>", "=FOLDER", "=文件夹", "=FILE", "=文件", "=NAME", "=名称",
	"=TEXT", "=文字", "=TIME", "=时间", "=WHEN", "=时间", "=PATH", "=路径", " or --", " 或 --",
)

// chineseValue is the help of a flag or an argument with the variable that may be set instead.
func chineseValue(v *kong.Value) string {
	if len(v.Tag.Envs) == 0 {
		return v.Help
	}
	return strings.TrimSuffix(v.Help, "。") + "（$" + strings.Join(v.Tag.Envs, "、$") + "）。"
}

// helpPrinter prints the help as kong does, except that of flags that exclude each other kong says that all are needed.
// In Chinese, kong's own words are Chinese, too.
func helpPrinter(l i18n.Lang) kong.HelpPrinter {
	return func(o kong.HelpOptions, ctx *kong.Context) error {
		var page bytes.Buffer
		out := ctx.Stdout
		ctx.Stdout = &page
		err := kong.DefaultHelpPrinter(o, ctx)
		ctx.Stdout = out
		text := page.String()
		if ctx.Selected() != nil { // a command's own commands are of one group
			for _, g := range groups(l) {
				text = strings.Replace(text, "\n"+g.Title+"\n", "\nCommands:\n", 1)
			}
		}
		text = strings.ReplaceAll(text, "--message=TEXT --batch", "(--message=TEXT | --batch)")
		if l == i18n.Chinese {
			text = argumentWords.Replace(headings.Replace(strings.Replace(text, "Usage: ", "用法：", 1)))
		}
		_, writeErr := io.WriteString(out, text)
		return errors.Join(err, writeErr)
	}
}
