package i18n

// About installing or removing a service of launchd or the Windows task scheduler.
var (
	ServiceWrote          = Phrase{"已写入 %s", "wrote %s"}
	ServiceStartedAtLogin = Phrase{
		"%s 已启动，以后每次登录时也会启动\n日志：tail -f %s",
		"%s is started, now and at every login\nits log: tail -f %s",
	}
	ServiceNothingToDo = Phrase{"没有 %s，不需要做什么", "nothing to do: there is no %s"}
	ServiceRemoved     = Phrase{"已删除 %s", "removed %s"}
	ServiceTaskStarted = Phrase{
		"任务 %s 已启动，以后每次登录时也会启动；它的窗口显示日志",
		"the task %s is started, now and at every login; its window shows the log",
	}
	ServiceTaskRemoved = Phrase{"已删除任务 %s", "removed the task %s"}
)

// About installing or removing a service of systemd.
var (
	ServiceStarted = Phrase{"%s 已启用并启动", "%s is enabled and started"}
	ServiceItsLog  = Phrase{"日志：journalctl -f -u %s", "its log: journalctl -f -u %s"}
	ServiceUserLog = Phrase{
		"日志：journalctl --user -f -u %s\n要在没有登录时也运行：loginctl enable-linger",
		"its log: journalctl --user -f -u %s\nto keep it running while you are not logged in: loginctl enable-linger",
	}
	ServiceSameUser = Phrase{
		"助手和服务一样以 %s 运行：它能读到服务的密钥和数据。让另一个用户运行助手：--agents NAME",
		"agents run as %s, like the service: they can read its secret and its data. Another user for them: --agents NAME",
	}
	ServiceOtherUser = Phrase{
		"助手以 %s 运行，读不到服务的密钥和数据",
		"agents run as %s, who can read neither the secret nor the data of the service",
	}
	ServiceGiving      = Phrase{"把 %s 交给 %s", "giving %s to %s"}
	ServiceWarning     = Phrase{"注意：%s", "warning: %s"}
	ServiceCannotWrite = Phrase{
		"注意：%[1]s 不能写入 %[2]s：chown -R %[1]s %[2]s",
		"warning: %[1]s cannot write to %[2]s: chown -R %[1]s %[2]s",
	}
	ServiceHardLinks = Phrase{
		"注意：没有交给 %[1]s：%[2]s 里的 %[3]d 个文件有别的硬链接，可能是服务自己的文件",
		"warning: files in %[2]s with other hard links were not given to %[1]s, since they may be the service's own: %[3]d",
	}
	ServiceCannotEnter = Phrase{
		"注意：%s 进不去 %s：它上面的某个文件夹不对这个用户开放",
		"warning: %s cannot get into %s: a folder above it is closed to that user",
	}
	ServiceCannotRead = Phrase{
		"注意：%[1]s 读不了 %[2]s：chown %[1]s %[2]s",
		"warning: %[1]s cannot read %[2]s: chown %[1]s %[2]s",
	}
)
