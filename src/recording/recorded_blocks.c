/* SPDX-License-Identifier: MIT */
/* recorded_blocks.c - see recorded_blocks.h. Reading takes no more rows than are ever written. */
#include "src/recording/recorded_blocks.h"

#include <errno.h>
#include <math.h>

#define COLUMNS 7u
#define TABLE \
	"CREATE TABLE IF NOT EXISTS blocks(id INTEGER PRIMARY KEY, address INTEGER, size INTEGER," \
	" site INTEGER, thread INTEGER, time REAL, weight REAL); DELETE FROM blocks;"

int recording_blocks_put(sqlite3 *db, const struct block_list *list)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	int err = recording_db_run(db, TABLE);

	if (err == 0)
		err = recording_db_prepare(db, "blocks", COLUMNS, &statement);
	for (size_t i = 0; err == 0 && i < list->count; i++) {
		const struct listed_block *b = &list->block[i];
		const struct cell cell[COLUMNS] = {
			CELL_I(i), CELL_I(b->address), CELL_I(b->size), CELL_I(b->site),
			CELL_I(b->thread), CELL_R(b->born), CELL_R(b->weight),
		};

		err = recording_db_put(statement, cell, COLUMNS);
	}
	return err;
}

static void read_block(struct block_list *list, struct row *row)
{
	struct listed_block *b = &list->block[list->count++];

	b->address = row_uint(row);
	b->size = row_uint(row);
	b->site = row_uint32(row, UINT32_MAX);
	b->thread = row_uint32(row, UINT32_MAX);
	b->born = row_real(row);
	b->weight = row_real(row);
}

int recording_blocks_read(sqlite3 *db, struct block_list **ret)
{
	_cleanup_(recording_db_done) sqlite3_stmt *statement = NULL;
	struct block_list *list;
	int result, err = recording_db_has_table(db, "blocks");

	*ret = NULL;
	if (err <= 0)
		return err;
	list = calloc(1, sizeof(*list));
	if (list)
		list->block = calloc(BLOCK_LIST_MAX, sizeof(*list->block));
	if (!list || !list->block) {
		block_list_free(list);
		return -ENOMEM;
	}
	result = recording_db_select(db, "SELECT address, size, site, thread, time, weight "
				    "FROM blocks ORDER BY id", &statement);
	while (result == SQLITE_OK || result == SQLITE_ROW) {
		result = sqlite3_step(statement);
		if (result != SQLITE_ROW || list->count == BLOCK_LIST_MAX)
			break;
		read_block(list, &(struct row){ .statement = statement });
	}
	err = result == SQLITE_ROW ? 0 : recording_db_errno(db, result);
	if (err < 0)
		block_list_free(list);
	else
		*ret = list;
	return err;
}
