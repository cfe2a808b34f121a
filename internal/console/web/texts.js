// The words of the page, and the language that it speaks.

import { keep, kept } from './model.js';

const texts = {
  zh: {
    title: '鹊桥 Magpie · 演练场', name: '鹊桥', atBot: '@鹊桥', botAvatar: '鹊', groupAvatar: '群', playground: '演练场', other: 'EN', otherLabel: 'EN: switch to English', colon: '：',
    agentReal: '助手：真实的 Claude Code，用你的登录，可能产生费用', agentDouble: '助手：真实的 Claude Code，模型是模拟的，不产生费用',
    chats: '聊天列表', messages: '消息', suggestions: '快捷消息', speakAs: '发言身份', composer: '输入消息', isOwner: '（机器人的所有者）', isStranger: '（陌生人）',
    keys: 'Enter 发送 · / 命令 · 可粘贴、拖入文件', send: '发送', attach: '发送文件', commands: '命令', remove: '移除', dropHere: '松开鼠标，发送文件',
    context: '幕后', contextFull: '幕后：Claude 收到了什么', contextAbout: '左边是人看到的，这里是每一轮真正交给 Claude 的，最新的在最上面。',
    tries: ['测试为什么不通过？', '讲个故事', '问我几个问题', '做个计划', '给我看看价格图', '我第一句话说了什么？', '/help', '/status'],
    breakIt: '故障演练', breakAbout: '都是真的：会话文件真的删掉，进程真的被 kill -9 强制结束。看对话怎样接着进行。',
    lose: '弄丢会话', kill: '强制结束鹊桥', unplug: '拔掉飞书', plug: '接上飞书', fillDisk: '写满磁盘', freeDisk: '释放磁盘空间',
    sessionLost: id => '已删除会话 ' + id.slice(0, 8) + '，再问一句试试。', noSession: '这个聊天还没有会话。',
    killedNow: '鹊桥进程已被强制结束，正在重启…', killedBefore: (n, pid) => '鹊桥被强制结束过 ' + n + ' 次，现在是进程 ' + pid + '。',
    unpluggedNow: '飞书连不上了。这时发的消息，接上以后会补答。', fullNow: '磁盘写不进去了。这时发的消息，腾出空间以后会补答。', refusedNow: n => '有 ' + n + ' 条消息没能存下来，飞书稍后会重新送达。',
    private: '私聊', group: '群聊', people: n => n + ' 人', groupNote: '群里需要 @鹊桥 才会回答', unread: n => n + ' 条未读',
    placeholder: n => '以“' + n + '”的身份说点什么…', empty: '还没有消息。跟着上面的导览走，或者试试下面的快捷消息。',
    emptyReal: '还没有消息。回答的是真实的模型，用的是你的登录，可能产生费用。可以问问示例项目，或者试试下面的快捷消息。导览需要模拟的模型，也就是演练场默认的那个。',
    noMessages: '暂无消息',
    recalled: '此消息已撤回', streaming: '生成中', updates: n => '更新 ' + n + ' 次', replyTo: n => '回复 ' + n + '：', topicOf: n => '在 ' + n + ' 的话题里：', editing: '编辑：',
    topic: '话题', edited: '已编辑', deeds: '更多操作', quote: '引用', inTopic: '话题', edit: '编辑', recall: '撤回', file: '文件',
    bytes: n => n < 1024 ? n + ' B' : n < 1 << 20 ? (n / 1024).toFixed(1) + ' KB' : (n / (1 << 20)).toFixed(1) + ' MB',
    noTurns: '这个聊天还没有向 Claude 发送过内容。', turn: n => '第 ' + n + ' 轮', live: '会话进行中', resume: '续接会话', none: '新会话',
    session: '会话', healed: '已自愈', lostCause: '会话丢失', causes: { 'transcript missing': '会话文件不见了' }, statMessages: '消息', statUser: '用户消息', statChars: '字符', statTokens: 'Token 数',
    prefix: '历史前缀', healedPrefix: '鹊桥补上的历史', noPrefix: '没有附上历史', prefixSize: n => n + ' 字', question: '问题',
    sent: '模型收到的请求', requests: n => n + ' 次', roleSystem: '系统', roleUser: '用户', roleAssistant: '助手', roleTool: '工具结果', rolePrompt: '提示词',
    systemSize: (n, tools) => n + ' 字，' + tools + ' 个工具', left: n => '更早的 ' + n + ' 条', history: n => '历史前缀，' + n + ' 字', healing: n => '补上的历史，' + n + ' 字',
    violations: '违反平台规则', bridgeUp: '机器人已连接', bridgeDown: '机器人未连接', pageDown: '与本页断开，重连中…',
    bridgeKilled: '鹊桥已被强制结束', bridgeUnplugged: '飞书已断开',
    copy: '复制', copied: '已复制', picture: '图片', unknown: t => '[' + t + ']', done: '已完成',
    errors: { empty: '消息不能为空', too_long: '消息太长', too_big: '文件太大，最多 30 MB', no_chat: '没有这个聊天', no_user: '此人不在这个聊天里', no_message: '没有这条消息',
      not_yours: '只能改自己的消息', not_text: '只能编辑文字消息', press: '操作没有成功', incomplete: '表单还没有填好', lose: '删除会话没有成功', kill: '没能结束鹊桥进程', disk: '磁盘没有写满',
      no_bridge: '鹊桥现在没有运行', not_offered: '这里没有这个功能', request: '请求有误', internal: '出错了', network: '连接不上演练场' },
    stepOf: (n, title) => '第 ' + n + ' 步：' + title, tourOpen: '导览', tourClose: '收起导览', tourLabel: '导览', tourAgain: '再来一遍', tourShow: '带我去看', tourSkip: '跳过',
    tourOver: { title: '走完了', text: '接下来随便试：发图片、拖文件、引用、编辑、撤回、在群里 @ 它，或者把“幕后”的按钮都按一遍。' },
    tourWords: { fix: '测试为什么不通过？', first: '我第一句话说了什么？', story: '讲个故事', form: '问我几个问题', plan: '做个计划',
      remember: '/remember 发布日是周五', recall: '发布日是什么时候？' },
    tour: [
      { title: '提问', acts: [{ label: '问：测试为什么不通过？', text: '示例项目里有个测试不通过。问问 Claude：它会读代码、找原因，回答实时更新到卡片。' }] },
      { title: '允许', acts: [{ text: '它想改一个文件，再跑一条命令，每次都先问你：看清楚要做什么，再点卡片上的“允许一次”。' }] },
      { title: '弄丢会话', acts: [{ label: '弄丢会话', text: '现在把 Claude 的会话文件从磁盘上删掉。换了别的机器人，刚才聊的就全没了。' },
        { label: '问：我第一句话说了什么？', text: '再问一件只有会话里才有的事。右边会标出鹊桥补上的历史。' }] },
      { title: '强制结束鹊桥', acts: [{ label: '让它讲个故事', text: '让它慢慢写一个长一点的回答。' }, { label: 'kill -9 鹊桥', text: '写到一半，强制结束鹊桥进程。它会自动重启，把故事接着讲完。' }] },
      { title: '表单和计划', acts: [{ label: '让它问我', text: 'Claude 拿不准的时候会问你，问题变成一张表单。' }, { text: '选好，然后提交。' },
        { label: '让它做计划', text: '大一点的事先写计划，批准了才动手。' }, { text: '看看计划，批准，或者写一句怎么改。' }] },
      { title: '记忆', acts: [{ label: '记住：发布日是周五', text: '让它记住一件事。记忆和聊天是分开存的，可以看、可以改、可以忘。' }, { label: '/new 新对话', text: '开始全新的对话：会话和历史都不带过去。' },
        { label: '问：发布日是什么时候？', text: '对话是新的，记忆还在。' }] },
    ],
  },
  en: {
    title: 'Magpie · Playground', name: '', atBot: '@Magpie', botAvatar: 'M', groupAvatar: 'G', playground: 'Playground', other: '中文', otherLabel: '切换到中文', colon: ': ',
    agentReal: 'Agent: real Claude Code with your own login, which may cost money', agentDouble: 'Agent: real Claude Code, simulated model, free of charge',
    chats: 'Chats', messages: 'Messages', suggestions: 'Suggestions', speakAs: 'Speak as', composer: 'Write a message', isOwner: ' (owner of the bot)', isStranger: ' (a stranger)',
    keys: 'Enter sends · / for commands · paste or drop files', send: 'Send', attach: 'Send a file', commands: 'Commands', remove: 'Remove', dropHere: 'Drop to send',
    context: 'Backstage', contextFull: 'Backstage: what Claude was sent', contextAbout: 'On the left: what people see. Here: what Claude really got for each turn, newest first.',
    tries: ['Why does the test fail?', 'Tell me a story', 'Ask me a few questions', 'Make a plan', 'Show me the price chart', 'What did I say first?', '/help', '/status'],
    breakIt: 'Break something', breakAbout: 'All real: the session file is deleted, the process gets kill -9. Watch the conversation continue.',
    lose: 'Lose the session', kill: 'Kill the bridge', unplug: 'Unplug Feishu', plug: 'Plug Feishu in', fillDisk: 'Fill the disk', freeDisk: 'Free up space',
    sessionLost: id => 'Session ' + id.slice(0, 8) + ' deleted. Now ask something.', noSession: 'This chat has no session yet.',
    killedNow: 'The bridge was killed and is being restarted…', killedBefore: (n, pid) => 'The bridge was killed ' + (n === 1 ? 'once' : n + ' times') + '; it is process ' + pid + ' now.',
    unpluggedNow: 'Feishu cannot be reached. What you write now will be answered once it is back.', fullNow: 'The disk is full. What you write now will be answered once there is room.',
    refusedNow: n => (n === 1 ? 'One message' : n + ' messages') + ' could not be stored; Feishu will deliver ' + (n === 1 ? 'it' : 'them') + ' again.',
    private: 'Private chat', group: 'Group', people: n => n + ' people', groupNote: 'In groups the bot answers when mentioned', unread: n => n + ' unread',
    placeholder: n => 'Say something as ' + n + '…', empty: 'No messages yet. Take the tour above, or try a suggestion below.',
    emptyReal: 'No messages yet. The real model answers here, with your own login, and may cost money. Ask about the sample project, or try a suggestion below. The tour needs the simulated model, which is the default.',
    noMessages: 'No messages',
    recalled: 'This message was recalled', streaming: 'writing', updates: n => n + (n === 1 ? ' update' : ' updates'), replyTo: n => 'Reply to ' + n + ': ', topicOf: n => 'In the topic of ' + n + ': ', editing: 'Editing: ',
    topic: 'Topic', edited: 'edited', deeds: 'More', quote: 'Quote', inTopic: 'Topic', edit: 'Edit', recall: 'Recall', file: 'file',
    bytes: n => n < 1024 ? n + ' B' : n < 1 << 20 ? (n / 1024).toFixed(1) + ' KB' : (n / (1 << 20)).toFixed(1) + ' MB',
    noTurns: 'Nothing has been sent for this chat yet.', turn: n => 'Turn ' + n, live: 'live', resume: 'resumed', none: 'new session',
    session: 'Session', healed: 'Healed', lostCause: 'Session lost', causes: { 'transcript missing': 'its file is gone' }, statMessages: 'Messages', statUser: 'From users', statChars: 'Chars', statTokens: 'Tokens',
    prefix: 'History prefix', healedPrefix: 'History that Magpie put back', noPrefix: 'No history sent', prefixSize: n => n + ' chars', question: 'Question',
    sent: 'What the model got', requests: n => n + (n === 1 ? ' request' : ' requests'), roleSystem: 'system', roleUser: 'user', roleAssistant: 'assistant', roleTool: 'tool result', rolePrompt: 'prompt',
    systemSize: (n, tools) => n + ' chars, ' + tools + ' tools', left: n => n + ' earlier', history: n => 'history prefix, ' + n + ' chars', healing: n => 'history put back, ' + n + ' chars',
    violations: 'Platform rules broken', bridgeUp: 'Bot connected', bridgeDown: 'Bot not connected', pageDown: 'Page disconnected, reconnecting…',
    bridgeKilled: 'Bridge killed', bridgeUnplugged: 'Feishu unplugged',
    copy: 'Copy', copied: 'Copied', picture: 'picture', unknown: t => '[' + t + ']', done: 'Done',
    errors: { empty: 'The message is empty', too_long: 'The message is too long', too_big: 'The file is too big: 30 MB at most', no_chat: 'No such chat', no_user: 'Not a member of this chat', no_message: 'No such message',
      not_yours: 'Only your own messages can be changed', not_text: 'Only text can be edited', press: 'The button did not work', incomplete: 'The form is not complete', lose: 'The session could not be deleted', kill: 'The bridge could not be killed',
      disk: 'The disk could not be filled', no_bridge: 'The bridge is not running right now', not_offered: 'Not available here', request: 'Bad request', internal: 'Something went wrong', network: 'The playground cannot be reached' },
    stepOf: (n, title) => 'Step ' + n + ': ' + title, tourOpen: 'Tour', tourClose: 'Hide the tour', tourLabel: 'Tour', tourAgain: 'Once more', tourShow: 'Show me', tourSkip: 'Skip',
    tourOver: { title: 'That was the tour', text: 'Now try what you like: send pictures, drop files, quote, edit, recall, mention it in a group, or press all the buttons in “Backstage”.' },
    tourWords: { fix: 'Why does the test fail?', first: 'What did I say first?', story: 'Tell me a story', form: 'Ask me a few questions', plan: 'Make a plan',
      remember: '/remember The release day is Friday', recall: 'What is the release day?' },
    tour: [
      { title: 'Ask', acts: [{ label: 'Ask: why does the test fail?', text: 'The sample project has a failing test. Ask Claude: it reads the code, finds out why, and its answer streams into a card.' }] },
      { title: 'Allow', acts: [{ text: 'It wants to change a file, then run a command, and asks each time: read what it wants to do, then press “Allow once” on the card.' }] },
      { title: 'Lose the session', acts: [{ label: 'Lose the session', text: 'Now delete Claude\'s session file from the disk. With other bots everything said so far would be gone.' },
        { label: 'Ask: what did I say first?', text: 'Ask for something that only the session knew. Backstage shows the history that Magpie puts back.' }] },
      { title: 'Kill the bridge', acts: [{ label: 'Have it tell a story', text: 'Have it write a longer answer, slowly.' }, { label: 'kill -9 the bridge', text: 'Kill the bridge\'s process in mid-answer. It restarts by itself, and the story goes on to its end.' }] },
      { title: 'Form and plan', acts: [{ label: 'Have it ask me', text: 'When Claude is in doubt it asks, and its questions become a form.' }, { text: 'Choose, then submit.' },
        { label: 'Have it make a plan', text: 'For bigger things it writes a plan first, and waits.' }, { text: 'Read the plan and approve it, or write what should change.' }] },
      { title: 'Memory', acts: [{ label: 'Remember: the release day is Friday', text: 'Have it remember something. Memories are kept apart from chats; they can be read, edited and forgotten.' }, { label: '/new conversation', text: 'Start a new conversation, without the session and without the history.' },
        { label: 'Ask: what is the release day?', text: 'The conversation is new, the memory is still there.' }] },
    ],
  },
};

// The people and groups of the playground have Chinese names, and the bot has an English one; this is what they are called
// in the other language.
const names = { zh: { Magpie: '鹊桥' }, en: { 小明: 'Ming', 小红: 'Hong', 鹊桥测试群: 'Magpie test group', 票务项目组: 'Ticket project' } };

// called is somebody's, a group's or the bot's name in the language of the page.
export function called(name) { return names[lang][name] || name; }

// named is a text in which they are called as on the page.
export function named(text) {
  return lang === 'en' ? String(text).replace(/小明|小红|鹊桥测试群|票务项目组/g, called) : String(text).replace(/@Magpie\b/g, t.atBot);
}

const known = kept('lang');
export let lang = known === 'en' || known === 'zh' ? known : /^zh\b/i.test(navigator.language) ? 'zh' : 'en';
export let t = texts[lang];

// speak changes the language of the page.
export function speak(next) {
  lang = next;
  t = texts[lang];
  keep('lang', lang);
}
