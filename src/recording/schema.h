/* SPDX-License-Identifier: MIT */
/*
 * schema.h - the tables of a recording (docs/RECORDING.md explains them).
 *
 * A change of meaning raises RECORDING_VERSION; new tables and columns at the end don't.
 */
#ifndef MEMATTACH_RECORDING_SCHEMA_H
#define MEMATTACH_RECORDING_SCHEMA_H

#define RECORDING_APPLICATION_ID 0x4d4d4154	/* "MMAT", in the file's header */

#define RECORDING_TABLES \
	"CREATE TABLE target(pid INTEGER, exe TEXT, cmdline TEXT, start_time REAL," \
	" threads INTEGER, rss_bytes INTEGER, vsz_bytes INTEGER, owner INTEGER);" \
	"CREATE TABLE allocators(id INTEGER PRIMARY KEY, name TEXT, version TEXT, module TEXT);" \
	"CREATE TABLE entry_points(allocator INTEGER, name TEXT, unhooked INTEGER);" \
	"CREATE TABLE session(version TEXT, mode INTEGER, loader INTEGER, begin_time REAL," \
	" duration REAL, sample_interval_bytes INTEGER, overhead_percent REAL," \
	" attach_stop_us_max INTEGER, detach_stop_us_max INTEGER, threads_stopped INTEGER," \
	" detached INTEGER, events_alloc INTEGER, events_free INTEGER, events_map INTEGER," \
	" events_unmap INTEGER, lost_alloc INTEGER, lost_free INTEGER, lost_stack INTEGER," \
	" lost_map INTEGER, lost_alloc_bytes INTEGER, stacks_distinct INTEGER," \
	" stacks_unwound INTEGER, stacks_truncated INTEGER, stacks_recognised INTEGER," \
	" blocked_seconds REAL, corrupt INTEGER, gaps INTEGER," \
	" gap_seconds REAL, exact INTEGER, every_alloc INTEGER," \
	" complete INTEGER, leaks INTEGER, max_bytes INTEGER, given_up INTEGER," \
	" stacks_audited INTEGER, stacks_mismatched INTEGER, memory_limit INTEGER," \
	" memory_used INTEGER, memory_peak INTEGER, evicted_sites INTEGER," \
	" evicted_stacks INTEGER, evicted_alloc_count INTEGER, evicted_alloc_bytes INTEGER," \
	" thinned_blocks INTEGER, thinned_bytes INTEGER, thinned_interval INTEGER," \
	" lost_hidden INTEGER, lost_hidden_bytes INTEGER, started INTEGER);" \
	"CREATE TABLE snapshots(id INTEGER PRIMARY KEY, time REAL, alloc_count INTEGER," \
	" alloc_bytes INTEGER, free_count INTEGER, free_bytes INTEGER," \
	" double_free_count INTEGER, illegal_free_count INTEGER, free_unknown_count INTEGER," \
	" temporary_count INTEGER, overhead_bytes INTEGER, live_count INTEGER," \
	" live_bytes INTEGER, peak_live_bytes INTEGER, live_bytes_low INTEGER," \
	" live_bytes_high INTEGER, missed_free_count INTEGER, untracked_count INTEGER," \
	" samples INTEGER, map_count INTEGER, map_bytes INTEGER, unmap_count INTEGER," \
	" unmap_bytes INTEGER, map_live_count INTEGER, map_live_bytes INTEGER," \
	" map_peak_live_bytes INTEGER, allocator_live_bytes INTEGER," \
	" unmap_unknown_bytes INTEGER, reason INTEGER," \
	" alloc_count_low INTEGER, alloc_count_high INTEGER," \
	" alloc_bytes_low INTEGER, alloc_bytes_high INTEGER," \
	" free_count_low INTEGER, free_count_high INTEGER," \
	" free_bytes_low INTEGER, free_bytes_high INTEGER," \
	" live_count_low INTEGER, live_count_high INTEGER," \
	" peak_live_bytes_low INTEGER, peak_live_bytes_high INTEGER," \
	" temporary_count_low INTEGER, temporary_count_high INTEGER);" \
	"CREATE TABLE timeline(id INTEGER PRIMARY KEY, time REAL, alloc_count INTEGER," \
	" free_count INTEGER, alloc_bytes INTEGER, live_bytes INTEGER, rss_bytes INTEGER," \
	" vsz_bytes INTEGER, trend_bytes INTEGER, sample_interval_bytes INTEGER," \
	" alloc_count_low INTEGER, alloc_count_high INTEGER," \
	" free_count_low INTEGER, free_count_high INTEGER," \
	" alloc_bytes_low INTEGER, alloc_bytes_high INTEGER," \
	" live_bytes_low INTEGER, live_bytes_high INTEGER, lost INTEGER);" \
	"CREATE TABLE histogram(size INTEGER PRIMARY KEY, count INTEGER);" \
	"CREATE TABLE modules(id INTEGER PRIMARY KEY, path TEXT, build_id TEXT, kind INTEGER," \
	" low INTEGER, high INTEGER, bias INTEGER, text_address INTEGER," \
	" text_offset INTEGER, text_bytes INTEGER);" \
	"CREATE TABLE frames(id INTEGER PRIMARY KEY, module INTEGER, offset INTEGER," \
	" flags INTEGER);" \
	"CREATE TABLE symbols(frame INTEGER, depth INTEGER, function TEXT," \
	" function_offset INTEGER, file TEXT, line INTEGER, column INTEGER, module TEXT," \
	" build_id TEXT, offset INTEGER, inlined INTEGER," \
	" PRIMARY KEY(frame, depth)) WITHOUT ROWID;" \
	"CREATE TABLE stacks(id INTEGER PRIMARY KEY, flags INTEGER);" \
	"CREATE TABLE stack_frames(stack INTEGER, depth INTEGER, frame INTEGER," \
	" PRIMARY KEY(stack, depth)) WITHOUT ROWID;" \
	"CREATE TABLE sites(id INTEGER PRIMARY KEY, stack INTEGER, kind INTEGER," \
	" skip_frames INTEGER, verdict INTEGER, live_count INTEGER, live_bytes INTEGER," \
	" live_bytes_low INTEGER, live_bytes_high INTEGER, alloc_count INTEGER," \
	" alloc_bytes INTEGER, free_count INTEGER, peak_live_bytes INTEGER," \
	" temporary_count INTEGER, samples INTEGER, threads INTEGER, lifetime_p50 REAL," \
	" lifetime_p90 REAL, lifetime_max REAL, first_time REAL, last_time REAL," \
	" growth REAL, growth_low REAL, growth_high REAL, at_peak_bytes INTEGER," \
	" at_peak_count INTEGER, size_low INTEGER, size_high INTEGER," \
	" alloc_count_low INTEGER, alloc_count_high INTEGER," \
	" alloc_bytes_low INTEGER, alloc_bytes_high INTEGER," \
	" free_count_low INTEGER, free_count_high INTEGER," \
	" free_bytes_low INTEGER, free_bytes_high INTEGER," \
	" live_count_low INTEGER, live_count_high INTEGER," \
	" peak_live_bytes_low INTEGER, peak_live_bytes_high INTEGER," \
	" temporary_count_low INTEGER, temporary_count_high INTEGER, sizes_0 INTEGER," \
	" sizes_1 INTEGER, sizes_2 INTEGER, sizes_3 INTEGER);" \
	"CREATE TABLE snapshot_sites(snapshot INTEGER, site INTEGER, live_count INTEGER," \
	" live_bytes INTEGER, alloc_count INTEGER, alloc_bytes INTEGER, free_count INTEGER," \
	" below INTEGER, above INTEGER, peak_live_bytes INTEGER, temporary_count INTEGER," \
	" PRIMARY KEY(snapshot, site)) WITHOUT ROWID;" \
	"CREATE TABLE site_lives(site INTEGER PRIMARY KEY, time REAL, freed TEXT," \
	" longest REAL, living TEXT, oldest REAL);" \
	"CREATE TABLE leaks(site INTEGER PRIMARY KEY, count INTEGER, bytes INTEGER," \
	" oldest REAL);" \
	"CREATE TABLE leak_addresses(site INTEGER, number INTEGER, address INTEGER," \
	" PRIMARY KEY(site, number)) WITHOUT ROWID;"

#endif
