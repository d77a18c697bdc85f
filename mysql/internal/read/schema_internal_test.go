package read

import "testing"

func TestWithoutDefiner(t *testing.T) {
	for _, change := range [][2]string{
		{
			"CREATE DEFINER=`root`@`localhost` FUNCTION `f`() RETURNS int",
			"CREATE FUNCTION `f`() RETURNS int",
		},
		{
			`CREATE DEFINER="a""b"@"%" PROCEDURE "p"() SELECT 'DEFINER=x@y '`,
			`CREATE PROCEDURE "p"() SELECT 'DEFINER=x@y '`,
		},
		{
			"CREATE ALGORITHM=MERGE DEFINER=`r``x`@`` SQL SECURITY INVOKER VIEW `v` AS",
			"CREATE ALGORITHM=MERGE SQL SECURITY INVOKER VIEW `v` AS",
		},
		{
			"CREATE DEFINER=`role` AGGREGATE FUNCTION `a`",
			"CREATE AGGREGATE FUNCTION `a`",
		},
		{
			"CREATE TRIGGER t BEFORE INSERT ON x SET @a = 'DEFINER=`x`@`y`'",
			"CREATE TRIGGER t BEFORE INSERT ON x SET @a = 'DEFINER=`x`@`y`'",
		},
	} {
		if got := withoutDefiner(change[0]); got != change[1] {
			t.Errorf("%s\nbecomes %s,\nwant    %s", change[0], got, change[1])
		}
	}
}

func TestTriggerHere(t *testing.T) {
	for _, change := range [][2]string{
		{
			"CREATE DEFINER=`a`@`b` trigger if not exists shop.`t``3` after  insert on /* on */ `shop` . d " +
				"for each row SET @x = 'shop.d'",
			"CREATE DEFINER=`a`@`b` TRIGGER `t``3` AFTER INSERT ON d for each row SET @x = 'shop.d'",
		},
		{
			"CREATE TRIGGER t BEFORE UPDATE ON `d` FOR EACH ROW SET @x = 1",
			"CREATE TRIGGER t BEFORE UPDATE ON `d` FOR EACH ROW SET @x = 1",
		},
		{
			"CREATE TRIGGER other.t BEFORE UPDATE ON other.d FOR EACH ROW SET @x = 1",
			"CREATE TRIGGER other.t BEFORE UPDATE ON other.d FOR EACH ROW SET @x = 1",
		},
		{
			"CREATE TRIGGER \"t\" -- why\nBEFORE DELETE ON \"shop\".\"d\" FOR EACH ROW SET @x = 1",
			"CREATE TRIGGER \"t\" BEFORE DELETE ON \"d\" FOR EACH ROW SET @x = 1",
		},
	} {
		if got := triggerHere(change[0], "shop", false); got != change[1] {
			t.Errorf("%s\nbecomes %s,\nwant    %s", change[0], got, change[1])
		}
	}
}

func TestWithoutDatabase(t *testing.T) {
	for _, change := range [][2]string{
		{
			"select nextval(`shop`.`s`) AS `x`,'`shop`.`s` it\\'s `shop`.' AS `y` from `shop`.`a`",
			"select nextval(`s`) AS `x`,'`shop`.`s` it\\'s `shop`.' AS `y` from `a`",
		},
		{
			"select `other`.`x`.`id` AS `ox`,`other`.`shop`.`x` from (`shop`.`v` join `other`.`shop`)",
			"select `other`.`x`.`id` AS `ox`,`other`.`shop`.`x` from (`v` join `other`.`shop`)",
		},
		// The table shop.shop, and a table that is called so.
		{
			"select `shop`.`id` AS `id` from (`shop`.`d` `shop` join `other`.`x` on(`shop`.`id` = 1))",
			"select `shop`.`id` AS `id` from (`d` `shop` join `other`.`x` on(`shop`.`id` = 1))",
		},
		{
			"select `shop`.`id`,`shop`.`shop`.`n` from ((`shop`.`shop` join `shop`.`e`) join `o`.`x`)",
			"select `shop`.`id`,`shop`.`n` from ((`shop` join `e`) join `o`.`x`)",
		},
		{
			"with shop as (select `shop`.`d`.`id` from `shop`.`d`)" +
				"select `shop`.`id`,`shop`.`f`(3) from (`shop` join `c`)",
			"with shop as (select `d`.`id` from `d`)select `shop`.`id`,`f`(3) from (`shop` join `c`)",
		},
		{
			"select `Shop`.`id` from `Shop`.`d`",
			"select `Shop`.`id` from `Shop`.`d`",
		},
	} {
		if got := withoutDatabase(change[0], "shop", false); got != change[1] {
			t.Errorf("%s\nbecomes %s,\nwant    %s", change[0], got, change[1])
		}
	}
	if got := withoutDatabase("select `Shop`.`f`(1)", "shop", true); got != "select `f`(1)" {
		t.Error("letter case counts:", got)
	}
}

func TestInOrder(t *testing.T) {
	order := inOrder(map[string][]string{
		"a": {"", "CREATE VIEW `a` AS select 'z' from `c` join `t`"}, "b": {"", "VIEW `b` from `a`"},
		"c": {"", "from `t`"},
	})
	if len(order) != 3 || order[0] != "c" || order[1] != "a" || order[2] != "b" {
		t.Error(order)
	}
}

func TestGrantsRole(t *testing.T) {
	for grant, is := range map[string]bool{
		"GRANT `reader`@`%`,`a``b`@`%` TO `me`@`localhost`":     true,
		"GRANT ``@`%` TO `me`@`localhost`":                      true,
		"GRANT SELECT (`a`, `b`@) ON `shop`.`t` TO `me`@`%`":    false,
		"GRANT USAGE ON *.* TO `me`@`localhost`":                false,
		"GRANT PROXY ON ``@`` TO `root`@`%` WITH GRANT OPTION":  false,
		"GRANT SELECT, TRIGGER ON `shop`.* TO `me`@`localhost`": false,
		"GRANT BACKUP_ADMIN,ROLE_ADMIN ON *.* TO `root`@`%`":    false,
	} {
		if grantsRole.MatchString(grant) != is {
			t.Errorf("%s: grants a role: %v", grant, !is)
		}
	}
}
