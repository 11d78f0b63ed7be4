"""What all studies share: where they read and write, results that are kept, pages, pictures, trained runs.

config.py   a study's options, its folders, its command
results.py  named results in a JSON file, kept as soon as they are known
page.py     Markdown tables and pages
picture.py  pictures of figures
runs.py     runs of the trainers, and what they logged
leaves.py   learned leaves against hand-made ones: choices judged by a solver, games from given openings
"""
