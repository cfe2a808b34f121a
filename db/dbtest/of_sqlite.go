package dbtest

import (
	"slices"
	"strings"
	"testing"
)

// ofSQLite are all tests that are skipped on PostgreSQL, with the packages in which they are, and why.
var ofSQLite = []struct{ folder, test, why string }{
	{"db", "TestTheDatabaseIsPrivate", "the mode of the file"},
	{"db", "TestFolderNamesWithSpecialCharacters", "the path of the file"},

	{"db", "TestACachedChatIsReadAgainWhenItChanges", "the cache of chats: other programs may write to PostgreSQL"},
	{"db", "TestCachedChatsAreLimited", "the cache of chats"},

	{"db", "TestALaggingIndexMissesNothing", "the indexer: PostgreSQL's index is written with each message"},
	{"db", "TestAnOutdatedBatchIsReadAgain", "the indexer"},
	{"db", "TestCloseEndsTheIndexing", "the indexer"},
	{"db", "TestOpenCompletesTheIndex", "the indexer"},
	{"db", "TestFindTakesTheNewest", "messages that are not in the index yet"},
	{"db", "TestALateVectorIsNotStoredForAnotherMessage", "ids of messages that are used again"},
	{"db", "TestMergingLeavesOneSegment", "the tables of its full-text search"},
	{"db", "TestADamagedIndexIsRebuilt", "the tables of its full-text search"},
	{"db", "TestABrokenIndexDoesNotRefuseMessages", "the tables of its full-text search"},

	{"db", "TestTheOneSchemaIsThatOfItsMigrations", "its migrations"},
	{"db", "TestADatabaseFromBeforeTheOneSchemaIsRefused", "its migrations"},
	{"db", "TestAChatGoesOnAfterAnUpgrade", "its migrations"},
	{"db", "TestLongWorkIsReported", "its migrations, and copies of the file"},
	{"db", "TestFrequentStatementsUseAnIndex", "its plans"},
	{"db", "TestFrequentStatementsReadNoWholeChat", "its plans"},

	{"cmd/magpie", "TestADeletedDatabaseLosesNothing", "a file that is lost"},
	{"cmd/magpie", "TestAFullDisk", "the disk of the file"},
	{"cmd/magpie", "TestHealthOfAStoreThatTakesNoWrites", "one lock of all writes"},
	{"cmd/magpie", "TestABadRowBlocksNothingElse", "texts in columns of numbers, which PostgreSQL refuses"},
}

// OfSQLite skips a test of what only SQLite has, which must be in the list.
func OfSQLite(t testing.TB) {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	i := slices.IndexFunc(ofSQLite, func(s struct{ folder, test, why string }) bool { return s.test == name })
	if i < 0 {
		t.Fatalf("%s is not in the list of tests that only SQLite passes, with the reason", name)
	}
	if OnPostgres() {
		t.Skip("only SQLite: " + ofSQLite[i].why)
	}
}
