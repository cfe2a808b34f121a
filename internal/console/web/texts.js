// The words of the page, and the language that it speaks.

const texts = {
  zh: {
    title: '鹊桥 Magpie · 演练场', playground: '演练场', other: 'EN', otherLabel: 'Switch to English',
    agentReal: '助手：真实的 Claude Code', agentDouble: '助手：真实的 Claude Code，模型是模拟的（未登录）',
    chats: '聊天列表', messages: '消息', suggestions: '快捷消息', speakAs: '发言身份', composer: '输入消息',
    keys: 'Enter 发送 · Shift+Enter 换行', send: '发送', context: '上下文', contextFull: '上下文 / Context',
    contextAbout: '每一轮交给助手的上下文，最新的在最上面。',
    lose: '偷偷删除会话', loseAbout: '绕过鹊桥，直接从磁盘上删掉 Claude 的会话。再问一句“我叫什么名字？”：鹊桥会发现会话丢了，换一个新会话并补上历史，答案仍然正确。看下方新一轮的“已自愈”和“历史前缀”。',
    private: '私聊', group: '群聊', people: n => n + ' 人', groupNote: '群里需要 @Magpie 才会回答',
    placeholder: n => '以“' + n + '”的身份说点什么…', empty: '还没有消息。试试下面的快捷消息。', noMessages: '暂无消息',
    recalled: '此消息已撤回', streaming: '生成中', updates: n => '更新 ' + n + ' 次', replyTo: n => '回复 ' + n + '：', topic: '话题',
    noTurns: '这个聊天还没有产生过上下文。', turn: n => '第 ' + n + ' 轮', live: '进程存活', resume: '续接会话', none: '无',
    session: '会话', healed: '已自愈', lostCause: '会话丢失', statMessages: '消息', statUser: '用户消息', statChars: '字符', statTokens: 'Token',
    statBuild: '构建耗时', prefix: '历史前缀', noPrefix: '未注入历史', prefixSize: n => n + ' 字', question: '问题',
    violations: '违反平台规则', noViolations: '没有违反过任何平台规则', bridgeUp: '长连接已建立', bridgeDown: '机器人未连接', pageDown: '与本页断开，重连中…',
    copy: '复制', copied: '已复制', picture: '图片', unknown: t => '[' + t + ']', done: '已完成',
    errors: { empty: '消息不能为空', too_long: '消息太长', no_chat: '没有这个聊天', no_user: '此人不在这个聊天里', no_message: '没有这条消息',
      press: '按钮没有成功', incomplete: '表单还没有填好', lose: '删除会话没有成功', not_offered: '这里不能删除会话', request: '请求有误', internal: '出错了', network: '连接不上演练场' },
  },
  en: {
    title: 'Magpie · Playground', playground: 'Playground', other: '中文', otherLabel: '切换到中文',
    agentReal: 'Agent: real Claude Code CLI', agentDouble: 'Agent: real Claude Code, simulated model (not logged in)',
    chats: 'Chats', messages: 'Messages', suggestions: 'Suggestions', speakAs: 'Speak as', composer: 'Write a message',
    keys: 'Enter sends · Shift+Enter new line', send: 'Send', context: 'Context', contextFull: 'Context / 上下文',
    contextAbout: 'What the agent got for each turn, newest first.',
    lose: 'Lose the session', loseAbout: 'Deletes Claude\'s session on disk behind Magpie\'s back. Then ask "what is my name?": Magpie notices the loss, starts a new session and restores the history, and the answer is still right. Look for "Healed" and "History prefix" on the new turn below.',
    private: 'Private chat', group: 'Group', people: n => n + ' people', groupNote: 'In groups the bot answers when mentioned',
    placeholder: n => 'Say something as ' + n + '…', empty: 'No messages yet. Try a suggestion below.', noMessages: 'No messages',
    recalled: 'This message was recalled', streaming: 'writing', updates: n => n + (n === 1 ? ' update' : ' updates'), replyTo: n => 'Reply to ' + n + ': ', topic: 'Topic',
    noTurns: 'No context has been built for this chat yet.', turn: n => 'Turn ' + n, live: 'live', resume: 'resumed', none: 'none',
    session: 'Session', healed: 'Healed', lostCause: 'Session lost', statMessages: 'Messages', statUser: 'From users', statChars: 'Chars', statTokens: 'Tokens',
    statBuild: 'Built in', prefix: 'History prefix', noPrefix: 'No history sent', prefixSize: n => n + ' chars', question: 'Question',
    violations: 'Platform rules broken', noViolations: 'No platform rules broken', bridgeUp: 'Bot connected', bridgeDown: 'Bot not connected', pageDown: 'Page disconnected, trying again…',
    copy: 'Copy', copied: 'Copied', picture: 'picture', unknown: t => '[' + t + ']', done: 'Done',
    errors: { empty: 'The message is empty', too_long: 'The message is too long', no_chat: 'No such chat', no_user: 'Not a member of this chat', no_message: 'No such message',
      press: 'The button did not work', incomplete: 'The form is not complete', lose: 'The session was not lost', not_offered: 'Not offered here', request: 'Bad request', internal: 'Something went wrong', network: 'The playground cannot be reached' },
  },
};

export let lang = recall('lang') === 'en' ? 'en' : 'zh';
export let t = texts[lang];

// speak changes the language of the page.
export function speak(next) {
  lang = next;
  t = texts[lang];
  remember('lang', lang);
}

function recall(key) {
  try { return localStorage.getItem('magpie.' + key); } catch { return null; }
}

function remember(key, value) {
  try { localStorage.setItem('magpie.' + key, value); } catch { /* private mode: forgotten with the page */ }
}
