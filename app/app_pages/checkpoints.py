import streamlit as st

st.title("checkpoints")
